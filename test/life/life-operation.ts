import type { Operation } from '../../api/core/operation.ts';
import type { Item, Life, LifeEntity } from './life.ts';
import { PEOPLE, type Person, valueOf } from './people.ts';

/** The input of one call. `item` fills the parameters of the path: its own id the last, `of` the one before. */
export type Call = {
  item?: Item;
  params?: Record<string, string>;
  query?: Record<string, string | number | boolean | readonly string[] | undefined>;
  body?: unknown;
  file?: { name: string; content: string };
  headers?: Record<string, string>;
};

export type Answer = {
  status: number;
  text: string;
  headers: Record<string, string>;
  /** The payload within the envelope; the whole body without one. */
  result: unknown;
  sentAt: number;
  answeredAt: number;
};

/** How a walk calls an operation of the contract, and what has to hold of the answer. */
export type LifeOperation = {
  /** How often it is drawn; 1 by default. */
  weight?: number;
  /** Throws `NothingToCall` if there is no object for it. */
  call(draw: Draw): Call | Promise<Call>;
  /**
   * `ok`: only a success, unless the object is deleted meanwhile. By default a refusal of the caller is an answer as
   * well.
   */
  expects?: 'ok';
  /**
   * Called after a success: notes in the model what it changed, and throws `Broken` if the answer contradicts the
   * model.
   */
  done?(answer: Answer, draw: Draw, call: Call): void | Promise<void>;
};

export type LifeOperations = Readonly<Record<string, LifeOperation>>;

/** There is no object that the operation could name. */
export class NothingToCall extends Error {}
/** Something does not hold that has to hold at every moment. */
export class Broken extends Error {}

/** Throws `Broken` unless it holds. */
export function mustHold(holds: boolean, what: string): void {
  if (!holds) throw new Broken(what);
}

/** What a call is drawn from: its own random numbers, and what the walk knows. */
export class Draw {
  readonly random: () => number;
  readonly life: Life;
  readonly entity: LifeEntity;

  constructor(random: () => number, life: Life, entity: LifeEntity) {
    this.random = random;
    this.life = life;
    this.entity = entity;
  }

  int(below: number): number {
    return Math.floor(this.random() * below);
  }

  chance(share: number): boolean {
    return this.random() < share;
  }

  of<T>(choices: readonly T[]): T {
    if (choices.length === 0) throw new NothingToCall();
    return choices[this.int(choices.length)]!;
  }

  some<T>(choices: readonly T[], most: number): T[] {
    return Array.from({ length: 1 + this.int(most) }, () => this.of(choices));
  }

  item(kind: string): Item {
    return this.of([...this.entity.items(kind)].filter(({ isGone }) => !isGone));
  }

  /** One that may be deleted. */
  spare(kind: string): Item {
    return this.of([...this.entity.items(kind)].filter(({ isGone, isKept }) => !isGone && !isKept));
  }

  /** The one that was made last: most likely it has not ended. */
  latest(kind: string): Item {
    return this.of([...this.entity.items(kind)].filter(({ isGone }) => !isGone).slice(-1));
  }

  person(): Person {
    return this.of(PEOPLE);
  }

  /** A new text of a person, in which the entity is named. */
  value(person: Person): string {
    return valueOf(this.entity.name, person, this.life.nextOrdinal());
  }

  /** A name that nothing has. */
  name(what: string): string {
    return `${what} ${this.life.nextOrdinal()}`;
  }
}

type Input = Omit<Call, 'item'>;
type InputOf = (draw: Draw, item: Item) => Input;
const NO_INPUT: InputOf = () => ({});

/** Makes objects of a kind up to this number. */
const MOST_ITEMS = 8;

/** A call about an object of the walk. */
export function about(kind: string, input: InputOf = NO_INPUT, more: Omit<LifeOperation, 'call'> = {}): LifeOperation {
  return {
    ...more,
    call: (draw) => {
      const item = draw.item(kind);
      return { item, ...input(draw, item) };
    },
  };
}

/** Cancels what was begun last. */
export const cancel = (kind: string, more: Omit<LifeOperation, 'call'> = {}): LifeOperation => ({
  weight: 1,
  ...more,
  call: (draw) => ({ item: draw.latest(kind) }),
});

/** Reads an object of the walk, which has to be there. */
export const read = (kind: string, input?: InputOf): LifeOperation => about(kind, input, { expects: 'ok' });

/** Reads a list. */
export const list = (input: (draw: Draw) => Input = () => ({})): LifeOperation => ({ call: input, expects: 'ok' });

/** A call that names no object, whose refusals are answers. */
export const call = (
  input: (draw: Draw) => Input = () => ({}),
  more: Omit<LifeOperation, 'call'> = {},
): LifeOperation => ({ ...more, call: input });

export type Made = { kind: string; id?: (result: never) => string | undefined; within?: string };

/** Makes an object, which is there from then on. `within` is the kind of the object that it belongs to. */
export function make({ kind, id = identifierOf, within }: Made, input: InputOf): LifeOperation {
  return {
    call(draw) {
      if (draw.entity.items(kind).size >= MOST_ITEMS) throw new NothingToCall();
      const parent = within === undefined ? undefined : draw.item(within);
      return { ...(parent ? { item: parent } : {}), ...input(draw, parent ?? { id: '' }) };
    },
    done({ result }, draw, { item }) {
      const made = id(result as never);
      if (made !== undefined)
        draw.entity.add(kind, { id: made, ...(within !== undefined && item ? { of: item.id } : {}) });
    },
  };
}

/** Deletes an object of the walk. It is gone from the moment of the call on; a refusal brings it back. */
export function remove(kind: string): LifeOperation {
  return {
    call(draw) {
      const item = draw.spare(kind);
      item.isGone = true;
      return { item };
    },
    done(_, draw, { item }) {
      draw.entity.items(kind).delete(item!);
    },
  };
}

const identifierOf = (result: { identifier?: string }) => result.identifier;

/** The parameters of a path, from an object or by their names. */
export function paramsOf({ path }: Operation, { item, params = {} }: Call): Record<string, string> {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!).filter((name) => !(name in params));
  const ids = item === undefined ? [] : [item.of, item.id].slice(-names.length);
  return { ...Object.fromEntries(names.map((name, nth) => [name, ids[nth] ?? item?.id ?? ''])), ...params };
}
