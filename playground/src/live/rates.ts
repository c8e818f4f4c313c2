/** How fast counts grow. */

/** Rates are averages of this many milliseconds, so that they can be read. */
const WINDOW = 5_000;
/** How often the server looks at its counts. It sends them only when they have changed. */
const EVERY = 1_000;

interface Sample {
  readonly t: number;
  readonly counts: ReadonlyMap<string, number>;
}

/** Remembers counts of the last seconds. */
export class Rates {
  private samples: Sample[] = [];

  /** Adds the counts of a moment in milliseconds. */
  add(t: number, counts: ReadonlyMap<string, number>): void {
    const last = this.samples.at(-1);
    // Nothing came meanwhile, so nothing had changed.
    if (last && t - last.t > 1.5 * EVERY) this.samples.push({ t: t - EVERY, counts: last.counts });
    this.samples.push({ t, counts });
    while (this.samples.length > 2 && this.samples[1]!.t <= t - WINDOW) this.samples.shift();
  }

  /** How much a count grew per second lately. */
  of(name: string, now: number): number {
    const [last, first] = [this.samples.at(-1), this.samples.find(({ t }) => t >= now - WINDOW)];
    if (!last || !first || first === last) return 0;
    const grown = (last.counts.get(name) ?? 0) - (first.counts.get(name) ?? 0);
    // What has happened since the last sample is not known yet.
    return (1000 * Math.max(0, grown)) / (Math.max(now - EVERY, last.t) - first.t);
  }
}
