// SPDX-License-Identifier: Apache-2.0
// The macros of GoogleTest that generated tests use, where GoogleTest is not installed.
#pragma once
#include <cmath>
#include <iostream>
#include <string>
#include <vector>

namespace testing
{
struct Test
{
  const char * suite;
  const char * name;
  void (*body)();
};

inline std::vector<Test> & tests()
{
  static std::vector<Test> all;
  return all;
}

inline int & failures()
{
  static int count = 0;
  return count;
}

inline bool added(const char * suite, const char * name, void (*body)())
{
  tests().push_back({suite, name, body});
  return true;
}

// Run all tests; return 0 if none failed.
inline int run()
{
  for (const Test & test : tests()) {
    const int before = failures();
    test.body();
    const bool passed = failures() == before;
    std::cout << (passed ? "OK " : "FAILED ") << test.suite << '.' << test.name << '\n';
  }
  return failures() != 0;
}

template <class... Values>
void expect(bool holds, const char * file, int line, const char * text, const Values &... values)
{
  if (!holds) {
    ++failures();
    std::cout << file << ':' << line << ": " << text;
    ((std::cout << "  " << values), ...);
    std::cout << '\n';
  }
}

template <class T>
auto shown(const T & value)
{
  if constexpr (std::is_enum<T>::value) {
    return static_cast<int>(value);
  } else {
    return value;
  }
}
}  // namespace testing

#define TEST(suite, name)                                                                     \
  static void suite##_##name();                                                               \
  static const bool suite##_##name##_added = testing::added(#suite, #name, &suite##_##name);  \
  static void suite##_##name()

#define COMPARED_(a, b, holds, text)                                                          \
  do {                                                                                        \
    const auto x_ = (a);                                                                      \
    const auto y_ = (b);                                                                      \
    testing::expect(                                                                          \
      holds, __FILE__, __LINE__, text, testing::shown(x_), testing::shown(y_));               \
  } while (false)
#define EXPECT_TRUE(x) testing::expect((x), __FILE__, __LINE__, #x)
#define EXPECT_FALSE(x) testing::expect(!(x), __FILE__, __LINE__, "not " #x)
#define EXPECT_EQ(a, b) COMPARED_(a, b, x_ == y_, #a " == " #b)
#define EXPECT_LE(a, b) COMPARED_(a, b, x_ <= y_, #a " <= " #b)
#define EXPECT_GT(a, b) COMPARED_(a, b, x_ > y_, #a " > " #b)
#define EXPECT_NEAR(a, b, most) COMPARED_(a, b, std::abs(x_ - y_) <= (most), #a " near " #b)
