#include <cstdio>
int main() { std::puts("headroom"); }
