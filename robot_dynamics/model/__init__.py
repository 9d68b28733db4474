"""Robot models: immutable data, independent of joint positions."""
