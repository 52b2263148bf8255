// An instruction-set file (by its suffix) that lets an inline function out as a weak symbol.
template <typename Number>
Number twice(Number value) {
  return value + value;
}

template int twice<int>(int);
