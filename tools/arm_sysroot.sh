#!/usr/bin/env bash
# Builds an arm64 root folder with Debian's CPython, its headers and libstdc++, for cross-built wheels and for
# running them under user-mode qemu. Nothing is installed on the machine: the packages are downloaded with a private
# apt state and unpacked.
#
# Usage: tools/arm_sysroot.sh DIRECTORY
# Needs: apt, dpkg-deb, a Debian package source that carries arm64. Prints the Python version of the root.
set -euo pipefail

if [[ $# -ne 1 ]]; then
  echo "usage: $0 DIRECTORY" >&2
  exit 2
fi

root=$(realpath -m -- "$1")
state=$root.apt
mkdir -p "$root" "$state/lists/partial" "$state/archives/partial"
: >"$state/status" # an empty status file: nothing counts as installed, so every dependency is fetched

apt_arm64() {
  apt-get -qq \
    -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root \
    -o Dir::State::Lists="$state/lists" -o Dir::State::status="$state/status" \
    -o Dir::Cache::archives="$state/archives" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
    -o Debug::NoLocking=1 -o Acquire::Retries=3 -o Acquire::Languages=none "$@"
}

# A third-party source without arm64 may fail here; the install step below decides whether anything is missing.
apt_arm64 update || true
apt_arm64 -y --no-install-recommends --download-only install \
  python3-minimal libpython3-stdlib libpython3-dev libstdc++6 >/dev/null

for package in "$state"/archives/*.deb; do
  dpkg-deb --extract "$package" "$root"
done
# Absolute links would lead out of the root.
find "$root" -type l -lname '/*' -printf '%p\t%l\n' | while IFS=$'\t' read -r link target; do
  ln -sfn "$(realpath -m --relative-to="$(dirname -- "$link")" "$root$target")" "$link"
done
rm -rf -- "$state"

interpreter=$(find "$root/usr/bin" -maxdepth 1 -name 'python3.*[0-9]' | head -n 1)
if [[ -z $interpreter ]]; then
  echo "no python3.N in $root/usr/bin: the package source carries no arm64 CPython" >&2
  exit 1
fi
basename -- "$interpreter" | sed 's/^python//'
