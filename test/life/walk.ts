import { setTimeout as delay } from 'node:timers/promises';
import type { Operation } from '../../api/core/operation.ts';
import { randomFor } from '../harness/run/seed.ts';
import type { Life } from './life.ts';
import { type Answer, Broken, type Call, Draw, NothingToCall } from './life-operation.ts';
import { contract, lifeOperations } from './operations/operations.ts';
import { markOfEntity } from './people.ts';
import { type Blow, nameOf, type Planned } from './plan.ts';
import { sendCall } from './request.ts';

/** Carries out the operations of a plan on a living service, and checks what has to hold at every moment. */

export type Finding = {
  /** What does not hold; the same for the same fault, so without identifiers and numbers. */
  what: string;
  details: string;
  /** The operation that showed it; null at the end of a walk. */
  ordinal: number | null;
};

export type WalkOptions = {
  /** Of the walk, from its first operation on. */
  milliseconds: number;
  /** Upper bound, so that a walk of minutes has a bounded cost. */
  operationsPerSecond: number;
  say(line: string): void;
  /** Ends the walk at the first finding. */
  isHasty?: boolean;
};

/** Operations under way at once. */
const LANES = 3;
/** Share of the reads that are asked once more, by the other entity. */
const ASKED_BY_OTHERS = 0.1;
/** How long a write is repeated until it is answered. */
const ANSWERED_WITHIN_MS = 180_000;
const BETWEEN_TRIES_MS = 500;
/** Longest time for which a killed part stays away. */
const MAX_AWAY_MS = 8_000;

/** Codes of Node and Postgres for a database that cannot be reached, or that shuts down or starts. */
const DATABASE_AWAY = /^\w+ (?:ECONN\w+|EPIPE|57P0\d|08\w{3}|55000) /;

/** An answer that only a fault of the server gives, with what its log says of it. */
class Fault extends Error {
  readonly logged: string;

  constructor(message: string, logged: string) {
    super(message);
    this.logged = logged;
  }
}

export class Walk {
  readonly findings: Finding[] = [];
  /**
   * By operation: the number of answers by status; of calls without an answer, and of those for which there was no
   * object.
   */
  readonly counts = new Map<string, Map<string, number>>();
  /** By operation: the last refusal, in words. */
  readonly refusals = new Map<string, string>();
  /** The operations that were begun. */
  readonly done: Planned[] = [];
  /** The user ids whose deletion any entity had asked for when the database was copied. */
  readonly askedBeforeCopy = new Set<string>();
  readonly #life: Life;
  readonly #options: WalkOptions;
  #repair: Promise<void> = Promise.resolve();

  constructor(life: Life, options: WalkOptions) {
    this.#life = life;
    this.#options = options;
  }

  /** Ends with all parts of the service there. */
  async run(plan: readonly Planned[]): Promise<void> {
    const start = Date.now();
    const left = [...plan];
    const lane = async () => {
      for (let planned = left.shift(); planned; planned = left.shift()) {
        const due = start + (this.done.length * 1_000) / this.#options.operationsPerSecond;
        if (due > Date.now()) await delay(due - Date.now());
        if (Date.now() - start > this.#options.milliseconds || (this.#options.isHasty && this.findings.length > 0))
          return;
        this.done.push(planned);
        await this.#carryOut(planned);
      }
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    await this.#repair;
    await this.#life.service.ready();
  }

  /** Notes a fault once. */
  note(what: string, details: string, ordinal: number | null): void {
    if (this.findings.some((finding) => finding.what === what)) return;
    this.findings.push({ what, details, ordinal });
    this.#options.say(`found${ordinal === null ? '' : ` at operation ${ordinal}`}: ${what}\n  ${details}`);
  }

  async #carryOut(planned: Planned): Promise<void> {
    try {
      if ('blow' in planned) await this.#strike(planned);
      else await this.#call(planned);
    } catch (error) {
      if (error instanceof NothingToCall) return this.#count(nameOf(planned), 'nothing to call');
      if (error instanceof Fault)
        return this.note(withoutIds(error.message), `${nameOf(planned)}: ${error.logged}`, planned.ordinal);
      const { message, stack } = error as Error;
      const what = error instanceof Broken ? message : `the walk failed: ${message}`;
      this.note(withoutIds(`${nameOf(planned)}: ${what}`), error instanceof Broken ? message : stack!, planned.ordinal);
    }
  }

  async #call(planned: Extract<Planned, { operation: string }>): Promise<void> {
    const life = this.#life;
    const operation = contract.get(planned.operation)!;
    const draw = new Draw(randomFor('call', planned.seed), life, life.entities[planned.entity]!);
    const { call: makeCall, expects, done } = lifeOperations[planned.operation]!;
    const call = await makeCall(draw);
    const wasGone = call.item?.isGone ?? false;
    const began = Date.now();
    const answer = await this.#answered(operation, call, draw);
    this.#count(planned.operation, answer ? String(answer.status) : 'no answer');
    if (answer === null || answer.status === 503) {
      if (!life.service.wasBroken(began, Date.now())) {
        throw new Broken(`${answer === null ? 'no answer' : 'status 503'} although all parts were there`);
      }
      return;
    }
    await this.#mustBeNoFault(answer);
    this.#mustBeSound(operation, answer, draw);
    const isSuccess = answer.status < 300;
    if (!isSuccess) this.refusals.set(planned.operation, answer.text.slice(0, 160));
    await this.#mustBeHidden(operation, call, draw);
    if (isSuccess) await done?.(answer, draw, call);
    else if (call.item && wasGone) call.item.isGone = answer.status === 404; // a deletion that was refused
    if (!isSuccess && expects === 'ok' && call.item?.isGone !== true) {
      throw new Broken(`status ${answer.status}, where only a success is right: ${answer.text.slice(0, 300)}`);
    }
  }

  /** Checks that the token of the other entity finds no object of this one. */
  async #mustBeHidden(operation: Operation, call: Call, draw: Draw): Promise<void> {
    const { entity, life } = draw;
    const isOwn =
      operation.method === 'GET' &&
      operation.auth === 'token' &&
      operation.role === undefined &&
      call.item !== undefined;
    if (!isOwn || !draw.chance(ASKED_BY_OTHERS)) return;
    const { token } = life.entities.find((other) => other !== entity)!;
    const answer = await sendCall(
      operation,
      call,
      { url: life.service.url, token, appKey: entity.app.apiKey },
      crypto.randomUUID(),
    );
    if (answer && answer.status < 300) throw new Broken(`status ${answer.status} with the token of another entity`);
  }

  /** A write is repeated until it is answered, a read is not: null if there was no answer. */
  async #answered(operation: Operation, call: Call, { entity }: Draw): Promise<Answer | null> {
    const sender = { url: this.#life.service.url, token: entity.token, appKey: entity.app.apiKey };
    const key = crypto.randomUUID();
    const sentAt = Date.now();
    for (;;) {
      const answer = await sendCall(operation, call, sender, key);
      if (answer !== null && answer.status < 500) return { ...answer, sentAt };
      if (answer !== null) await this.#mustBeNoFault(answer);
      const now = Date.now();
      if (operation.method === 'GET' || now - sentAt > ANSWERED_WITHIN_MS || !this.#life.service.wasBroken(sentAt, now))
        return answer;
      await delay(BETWEEN_TRIES_MS);
    }
  }

  /** The only fault that a server may have is a part that is away. */
  async #mustBeNoFault({ status, text, headers }: Answer): Promise<void> {
    if (status < 500 || (status === 503 && headers['retry-after'] !== undefined)) return;
    if (status === 503) throw new Broken(`status 503 without Retry-After: ${text.slice(0, 300)}`);
    const cause = await this.#life.service.causeOf(/report the id ([0-9a-f-]{36})/.exec(text)?.[1] ?? 'none');
    const error = cause?.error ?? text.slice(0, 300);
    throw new Fault(
      `status ${status} by ${DATABASE_AWAY.test(error) ? 'a database that is away' : error}`,
      cause?.logged ?? text,
    );
  }

  #mustBeSound(
    { result, bare, status: expected }: Operation,
    { status, text, result: given }: Answer,
    draw: Draw,
  ): void {
    const other = this.#life.entities.find((entity) => entity !== draw.entity)!;
    if (text.includes(markOfEntity(other.name))) throw new Broken(`the answer shows what ${other.name} was told`);
    if (status >= 300 || result === undefined || expected === 204) return;
    const read = result.safeParse(given);
    if (!read.success) {
      const [issue] = read.error.issues;
      throw new Broken(
        `the answer does not fit the contract${bare ? '' : ' (result)'}: ${issue!.path.join('.')} ${issue!.message}`,
      );
    }
  }

  /** One after the other: a blow waits until what the one before broke is there again. The walk goes on meanwhile. */
  async #strike({ blow, name, seed }: Extract<Planned, { blow: Blow }>): Promise<void> {
    const before = this.#repair;
    this.#repair = before
      .then(async () => {
        this.#count(name, 'done');
        this.#options.say(`${name} (operation ${this.done.length})`);
        await this.#breakAndRepair(blow, randomFor('blow', seed));
      })
      .catch((error: Error) => this.note(`${name}: the service did not come back`, error.stack!, null));
    await before;
  }

  async #breakAndRepair(blow: Blow, random: () => number): Promise<void> {
    const { service } = this.#life;
    if ('kill' in blow) {
      await service.kill(blow.kill);
      await delay(random() * MAX_AWAY_MS);
      for (const part of blow.kill) await service.begin(part);
    } else {
      const parts = 'restart' in blow ? blow.restart : (['work', 'serve'] as const);
      await service.end(parts);
      if ('copy' in blow) await this.#copy();
      for (const part of parts) await service.begin(part);
    }
    await service.ready();
  }

  async #copy(): Promise<void> {
    await this.#life.service.copyDatabase(COPY);
    for (const { erasures } of this.#life.entities)
      for (const userId of erasures.keys()) this.askedBeforeCopy.add(userId);
  }

  #count(name: string, outcome: string): void {
    const counts = this.counts.get(name) ?? new Map<string, number>();
    this.counts.set(name, counts.set(outcome, (counts.get(outcome) ?? 0) + 1));
  }
}

/** Name of the database that was copied in the middle of the walk. */
export const COPY = 'copied';

/** The same text for the same fault of another object. */
export function withoutIds(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<uuid>')
    .replaceAll(/\b[a-z]{2,7}_(?=\w*\d)\w{8,}/g, '<id>')
    .replaceAll(/\d+/g, '<n>')
    .slice(0, 240);
}
