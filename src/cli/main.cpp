#include <cstdio>
int main() { std::puts("qnn-debug"); }
