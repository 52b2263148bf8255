#!/usr/bin/env python3
"""Audits static libraries for what the project promises about them.

``audit.py instructions``: no fused multiply-add anywhere (results would differ between CPUs), and
nothing beyond the baseline (x86-64, armv8-a) outside the files whose suffix allows it.
``audit.py symbols``: instruction-set files define no weak symbol (the linker could give such a
copy, built for a newer CPU, to everybody), and the library never reads the environment, prints,
ends the process or calls an elementary function whose result depends on the C library.

With ``--expect RULE...`` exactly these rules must be broken: the test of the audit itself.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Rule(NamedTuple):
    name: str
    pattern: re.Pattern[str]
    allowed_files: re.Pattern[str] | None
    why: str


def rule(name: str, pattern: str, why: str, allowed_files: str | None = None) -> Rule:
    allowed = re.compile(allowed_files) if allowed_files else None
    return Rule(name, re.compile(pattern), allowed, why)


# Patterns are matched against "mnemonic operands".
X86_RULES = [
    rule("fused", r"^vfn?m(add|sub)", "fused multiply-add"),
    rule("wide", r"%[yz]mm|^v(?!er[rw]\b|m(call|func)\b)", "AVX", r"_avx2\."),
    rule("avx512", r"%zmm|%k[0-7]\b", "AVX-512"),
    rule(
        "sse",
        r"^(popcnt|lzcnt|crc32|pshufb|palignr|ptest|pmulld|pmuldq|pminsd|pminud|pmaxsd|pmaxud|pminsb"
        r"|pmaxsb|pminuw|pmaxuw|pmov[sz]x|pblend|blend|round[ps][sd]|pcmpeqq|pcmpgtq|ph(add|sub)|hadd"
        r"|hsub|movddup|movs[lh]dup|lddqu|pextr[bdq]|pinsr[bdq]|insertps|extractps|dpp[sd]|mpsadbw"
        r"|packusdw|pabs|psign|pmaddubsw|pmulhrsw|addsub)",
        "SSE3 or newer",
        r"_avx2\.",
    ),
]
ARM_RULES = [
    rule("fused", r"^(fn?m(add|sub)|fml[as]l?2?|fcmla)\b", "fused multiply-add"),
    rule("dot", r"^([us]dot|usdot|sudot)\b", "dot product", r"_neon_dotprod\."),
    rule(
        "atomic",
        r"^(casp?|swp|(ld|st)(add|clr|eor|set|[us]max|[us]min))(a|l|al)?[bh]?\b",
        "armv8.1 atomic",
    ),
    rule("sve", r"\bz[0-9]+\.[bhsd]\b", "SVE"),
]

INSTRUCTION_SET_FILE = re.compile(r"_(avx2|neon|neon_dotprod)\.")
# Patterns are matched against the names of undefined symbols.
SYMBOL_RULES = [
    rule("environment", r"^(secure_)?getenv$|^environ$", "reads the environment"),
    rule(
        "print",
        r"^_?_?v?(f|d|w)?w?printf(_chk)?$|^f?puts$|^f?putc(har)?$|^fwrite$|^perror$|^std(out|err)$"
        r"|^_ZSt(4cout|4cerr|4clog|5wcout|5wcerr)$|^syslog$",
        "prints",
    ),
    rule("end", r"^(abort|exit|_exit|_Exit|quick_exit)$", "ends the process"),
    rule(
        "assert",
        r"^__assert_fail$|^_ZSt21__glibcxx_assert_fail",
        "asserts in a release build",
    ),
    rule(
        "libm",
        r"^((exp|exp2|exp10|expm1|log|log2|log10|log1p|pow|tanh|fma)f|exp|exp2|expm1|fma)$",
        "calls a C library function whose bits differ between systems",
    ),
]


class Finding(NamedTuple):
    rule: str
    text: str


def output_lines(command: list[str]) -> list[str]:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def audit_instructions(objdump: str, files: Iterable[str]) -> Iterator[Finding]:
    for path in files:
        rules: list[Rule] | None = None
        member = symbol = ""
        seen = 0
        for line in output_lines([objdump, "-d", "--no-show-raw-insn", path]):
            if header := re.match(r"(\S+):\s+file format (\S+)", line):
                member = header[1]
                rules = ARM_RULES if "aarch64" in header[2] else X86_RULES
            elif header := re.match(r"[0-9a-f]+ <(.*)>:$", line):
                symbol = header[1]
            elif rules and (code := re.match(r"\s+[0-9a-f]+:\t(.*)", line)):
                seen += 1
                for one in rules:
                    if one.allowed_files and one.allowed_files.search(member):
                        continue
                    if one.pattern.search(code[1]):
                        yield Finding(one.name, f"{path}({member}), {symbol}: {one.why}: {code[1]}")
        if not seen:
            raise SystemExit(f"{path}: no instruction found, so nothing was audited")


def audit_symbols(nm: str, files: Iterable[str], asserts: bool) -> Iterator[Finding]:
    for path in files:
        member = ""
        seen = 0
        for line in output_lines([nm, "-P", path]):
            if header := re.match(r".*\[(.+)\]:$", line):
                member = header[1]
                continue
            fields = line.split()
            if len(fields) < 2:
                continue
            name, kind = fields[0], fields[1]
            seen += 1
            if kind in "WVu" and INSTRUCTION_SET_FILE.search(member):
                yield Finding("weak", f"{path}({member}): defines the weak symbol {name}")
            if kind in "Uw":
                for one in SYMBOL_RULES:
                    if one.pattern.search(name) and not (asserts and one.name == "assert"):
                        yield Finding(one.name, f"{path}({member}): {one.why}: {name}")
        if not seen:
            raise SystemExit(f"{path}: no symbol found, so nothing was audited")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["instructions", "symbols"])
    parser.add_argument("--objdump", default="objdump")
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--build_type", default="Release", help="a Debug build may assert")
    parser.add_argument("--expect", nargs="*", metavar="RULE", help="the rules that must be broken")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()

    if arguments.what == "instructions":
        findings = list(audit_instructions(arguments.objdump, arguments.files))
    else:
        findings = list(
            audit_symbols(arguments.nm, arguments.files, arguments.build_type == "Debug")
        )

    if arguments.expect is not None:
        broken, expected = {finding.rule for finding in findings}, set(arguments.expect)
        print(f"broken rules: {sorted(broken)}, expected: {sorted(expected)}")
        return broken != expected
    for finding in findings[:40]:
        print(f"{finding.rule}: {finding.text}")
    print(f"{len(findings)} findings in {len(arguments.files)} files")
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
