// What the servers here serve.

/** An error that the caller is to see. */
export class Refused extends Error {
  constructor(object) {
    super(object.message);
    this.object = object;
  }
}

let updates = 0;

/** The methods, each with its parameters as they came: a list or an object. */
export const methods = {
  echo: ([message]) => message,
  subtract: (params) => {
    const [minuend, subtrahend] = Array.isArray(params) ? params : [params.minuend, params.subtrahend];
    return minuend - subtrahend;
  },
  sum: (numbers) => numbers.reduce((sum, number) => sum + number, 0),
  get_data: () => ["hello", 5],
  update: () => {
    updates += 1;
  },
  updates: () => updates,
  fail: () => {
    throw new Refused({ code: 1234, message: "boom", data: { x: 1 } });
  },
};
