// What the programs here share: a line for every check, and an exit code that says whether all of them held.

import { inspect, isDeepStrictEqual } from "node:util";

/** What was found is what was expected. */
export function check(claim, found, expected) {
  if (isDeepStrictEqual(found, expected)) {
    console.log(`ok ${claim}`);
    return;
  }
  process.exitCode = 1;
  console.log(`FAILED ${claim}\n  found    ${inspect(found)}\n  expected ${inspect(expected)}`);
}

/** The promise is rejected, with an error that holds these members. */
export async function checkRejected(claim, promise, expected) {
  const outcome = await promise.then(
    (value) => ({ answered: value }),
    (error) => Object.fromEntries(Object.keys(expected).map((key) => [key, error[key]])),
  );
  check(claim, outcome, expected);
}

/** The URL with this scheme among the arguments of the program. */
export function url(scheme) {
  const found = process.argv.slice(2).find((argument) => argument.startsWith(`${scheme}:`));
  if (found === undefined) {
    throw new Error(`give a URL that begins with ${scheme}:`);
  }
  return found;
}

/** The host and the port of a `tcp` URL, as `node:net` wants them. */
export function place(tcp) {
  const { hostname, port } = new URL(tcp);
  return { host: hostname, port: Number(port) };
}
