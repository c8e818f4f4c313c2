// A client for Zoo */ """ API 2.0.0, made by `switchboard generate typescript`. Make it again rather than edit it.
//
//   const client = new Client("http://127.0.0.1:8000");

/** One that lives in the zoo. */
export interface Animal {
  "best friend"?: Animal | null;
  home?: AnimalHome;
  kind: "bird" | "big-cat" | "fish";
  /** What it is called. */
  name: string;
  parents?: Animal[];
  tags?: { [name: string]: string };
  type?: string | number;
}

export interface AnimalHome {
  x: number;
  y: number;
}

export type AnimalId = number;

export type Event = EventBorn | EventClosed | Event3;

export interface Event3 {
  event: "fed";
  when?: number;
}

export interface EventBorn {
  animal: Animal;
  event: "born";
}

export interface EventClosed {
  event: "closed";
  until?: string | null;
}

export type Path = Path[];

export interface Tree {
  left: Tree | number;
}

export interface ZooTellAbout {
  animal?: string;
}

/** The methods of `zoo`. */
export class ZooMethods {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Calls `zoo.open`. */
  open(params: { at: string }, options?: CallOptions): Promise<void> {
    return this.#transport.notify("zoo.open", params, options);
  }

  /**
   * Adds an animal. * / """ \
   *
   * It gets an identifier.
   *
   * ```
   * not a test
   * ```
   *
   * Errors:
   * - 100: The zoo is full
   * - 101: No such keeper
   *
   * @param params.animal - What to add.
   * @param params["notify-keeper"] - Whether to tell the keeper.
   */
  addAnimal(params: { animal: Animal; "notify-keeper"?: boolean }, options?: CallOptions): Promise<AnimalId> {
    return this.#transport.call("zoo/add_animal", params, options) as Promise<AnimalId>;
  }

  /**
   * Calls `zoo/find`.
   *
   * @param limit - How many * / at most.
   */
  find(kind: "bird" | "big-cat" | "fish", limit?: number, class_?: string | null, options?: CallOptions): Promise<Animal[]> {
    return this.#transport.call("zoo/find", positions([kind, limit, class_]), options) as Promise<Animal[]>;
  }

  /**
   * Calls `zoo/path`.
   *
   * @deprecated Use zoo/tree.
   */
  path(options?: CallOptions): Promise<Path> {
    return this.#transport.call("zoo/path", undefined, options) as Promise<Path>;
  }

  /** Calls `zoo/tell`. */
  tell(params: { about: ZooTellAbout }, options?: CallOptions): Promise<string> {
    return this.#transport.call("zoo/tell", params, options) as Promise<string>;
  }

  /** Calls `zoo/tell`. */
  tellStream2(params: { about: ZooTellAbout }, options?: CallOptions): AsyncIterable<string> {
    return this.#transport.stream("zoo/tell", params, options) as AsyncIterable<string>;
  }

  /** Calls `zoo/tell_stream`. */
  tellStream(options?: CallOptions): Promise<boolean> {
    return this.#transport.call("zoo/tell_stream", undefined, options) as Promise<boolean>;
  }

  /** Calls `zoo/tree`. */
  tree(options?: CallOptions): Promise<Tree> {
    return this.#transport.call("zoo/tree", undefined, options) as Promise<Tree>;
  }

  /** Calls `zoo/watch`. */
  watch(options?: CallOptions): AsyncIterable<Event> {
    return this.#transport.stream("zoo/watch", undefined, options) as AsyncIterable<Event>;
  }
}

/** Calls the methods of the API. */
export class Client {
  readonly #transport: Transport;
  readonly zoo: ZooMethods;

  /** Calls over a transport, or over that for a URL. */
  constructor(transport: Transport | string) {
    this.#transport = typeof transport === "string" ? connect(transport) : transport;
    this.zoo = new ZooMethods(this.#transport);
  }

  /**
   * Sends the calls that are made inside as one batch, and tells what became of each.
   *
   *     const [one, two] = await client.batch((calls) => [calls.one(), calls.two()]);
   *     if (one.status === 'fulfilled') console.log(one.value); else console.log(one.reason);
   *
   * What is thrown is about all of them. The options of the batch count, not those of a call in it.
   */
  batch<T extends readonly Promise<unknown>[]>(make: (calls: Client) => readonly [...T], options?: CallOptions): Promise<Outcomes<T>> {
    return together(this.#transport, (transport) => make(new Client(transport)), options);
  }

  /** Calls `Delete`. */
  delete_(options?: CallOptions): Promise<null> {
    return this.#transport.call("Delete", undefined, options) as Promise<null>;
  }

  /** Calls `batch`. */
  batch2(options?: CallOptions): Promise<boolean> {
    return this.#transport.call("batch", undefined, options) as Promise<boolean>;
  }

  /** Calls `delete`. */
  delete_2(params?: Params, options?: CallOptions): Promise<unknown> {
    return this.#transport.call("delete", params, options);
  }

  /** Calls `zoo_subscribe`. */
  zooSubscribe(options?: CallOptions): AsyncIterable<string> {
    return this.#transport.stream("zoo_subscribe", undefined, options, { notification: "zoo_subscription", unsubscribe: "zoo_unsubscribe" }) as AsyncIterable<string>;
  }
}

/** Parameters by position, without those at the end that are left out. */
function positions(values: readonly unknown[]): readonly unknown[] {
  let end = values.length;
  while (end > 0 && values[end - 1] === undefined) end -= 1;
  return values.slice(0, end);
}
