// A plugin in JavaScript for the tests: each function shows one shape of
// argument, result or failure. It must not know that belljar exists, since what
// the tests prove is that a component of the stock toolchain is a plugin.

// The toolchain runs this module once while it builds and keeps the memory, so
// a call that sees anything but 0 here shares its instance with another call.
let calls = 0;

const MAX_S64 = 2n ** 63n - 1n;
const MIN_S64 = -(2n ** 63n);

export const tools = {
  // A function whose type is a result fails by throwing the error's value.
  reverse(text) {
    if (text === "") {
      throw "the text is empty";
    }
    return Array.from(text).reverse().join("");
  },

  greet({ name, age, tone, tags }) {
    const hail = tone === "casual" ? "Hi" : "Good day";
    return {
      greeting: [`${hail}, ${name}`, ...tags].join(" "),
      adult: age >= 18,
      tagCount: tags.length,
    };
  },

  countBytes(length) {
    return Uint8Array.from({ length }, (_, index) => index % 256);
  },

  add(left, right) {
    const sum = left + right;
    if (sum > MAX_S64 || sum < MIN_S64) {
      throw `${sum} does not fit in 64 bits`;
    }
    return sum;
  },

  nextNumber() {
    calls += 1;
    return calls;
  },

  async fetchStatus(url) {
    try {
      const response = await fetch(url);
      return response.status;
    } catch (error) {
      throw `no answer from ${url}: ${error.message}`;
    }
  },

  throw(message) {
    throw new Error(message);
  },

  spin() {
    for (;;) {
      calls += 1;
    }
  },
};
