// Runs of syncs and exporters in the API: list, show, start and cancel them.
import { refuse } from '../../domain/core/refusal.ts';
import { type JobRef, jobRefOf } from '../../domain/jobs/job.ts';
import { type Queryable, type Tx, write } from '../../store/core/database.ts';
import { findNextJob, listJobIdentifiers } from '../../store/jobs/jobs.ts';
import { listRunAlerts } from '../../store/jobs/run-alerts.ts';
import type { Run, Runs } from '../../store/jobs/runs.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { audit } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { rowsOf, showPage } from '../http/page.ts';
import type { Circumstances, KeepReply } from '../http/route.ts';
import { findInternalErrors } from './show-internal-error.ts';
import { startSoon } from './start-soon.ts';

type Owner = { id: number; identifier: string };
type Who = Pick<Circumstances, 'address' | 'log'> & { caller: Caller; keepReply: KeepReply };
type Query = Parameters<typeof rowsOf>[0];

type RunKind<R extends Run, NewRun, O extends Owner, Shown, ShownOwner> = {
  runs: Runs<R, O>;
  insert(tx: Tx, owner: O, run: NewRun & { requestedBy: number }): Promise<R | null>;
  show(db: Queryable, entityId: number, runs: R[], isListed: boolean): Promise<Shown[]>;
  ownerKind: 'sync' | 'data_exporter';
  knownOwner(db: Queryable, entityId: number, identifier: string, find?: Runs<R, O>['owners']['lock']): Promise<O>;
  showOwner(db: Queryable, owner: O): Promise<ShownOwner>;
  /** Makes the Schedule of an owner what its row says. */
  followOwner(deps: RouteDependencies, log: Who['log'], owner: O): Promise<void>;
  pathOf(owner: string): string;
};

export function servedRuns<R extends Run, NewRun, O extends Owner, Shown, ShownOwner>(
  served: RunKind<R, NewRun, O, Shown, ShownOwner>,
) {
  const { runs, insert, knownOwner, pathOf, show } = served;
  const subjectKind = `${runs.kind}_run` as const;
  const showOne = async (db: Queryable, run: R, isListed = false) =>
    (await show(db, run.entityId, [run], isListed))[0]!;

  async function knownRun(db: Queryable, entityId: number, owner: string, identifier: string): Promise<R> {
    const { id } = await knownOwner(db, entityId, owner);
    const run = await runs.find(db, entityId, identifier);
    return run && runs.ownerOf(run) === id ? run : refuse(404, 'not_found', 'Run not found');
  }

  return {
    ...served,
    known: knownRun,

    async list({ db, settings }: RouteDependencies, entityId: number, owner: string, query: Query) {
      const { id } = await knownOwner(db, entityId, owner);
      const shown = await show(db, entityId, await runs.list(db, entityId, id, rowsOf(query)), true);
      return showPage(settings, pathOf(owner), query, await runs.count(db, entityId, id), shown);
    },

    async view({ db }: RouteDependencies, entityId: number, owner: string, identifier: string) {
      return showOne(db, await knownRun(db, entityId, owner, identifier));
    },

    async find({ db }: RouteDependencies, entityId: number, identifier: string) {
      const run = await runs.find(db, entityId, identifier);
      const owner = run && (await runs.owners.findById(db, entityId, runs.ownerOf(run)));
      if (!owner) return refuse(404, 'not_found', 'Run not found');
      return { owner: owner.identifier, shown: await showOne(db, run) };
    },

    /** Writes a run as `plan` returns it, and starts it. `plan` may refuse. */
    async start(
      deps: RouteDependencies,
      { log, keepReply, ...who }: Who,
      owner: string,
      plan: (tx: Tx, owner: O) => Promise<{ run: NewRun; details: object; isListed?: boolean }>,
    ): Promise<Shown> {
      const { entityId, userId } = who.caller;
      let ref: JobRef | null = null;
      const answer = await write(deps.db, async (tx) => {
        const held = await knownOwner(tx, entityId, owner, runs.owners.lock);
        const { run, details, isListed } = await plan(tx, held);
        const made = (await insert(tx, held, { ...run, requestedBy: userId }))!;
        ref = jobRefOf(made);
        const told = { run: made.identifier, ...details };
        await audit(tx, who, { action: 'create', subjectKind, subject: owner, details: told });
        return keepReply(tx, await showOne(tx, made, isListed));
      });
      await startSoon(deps, log, runs.kind, ref!);
      return answer;
    },

    async cancel(deps: RouteDependencies, { log, keepReply, ...who }: Who, owner: string, identifier: string) {
      const { entityId } = who.caller;
      const run = await knownRun(deps.db, entityId, owner, identifier);
      const answer = await write(deps.db, async (tx) => {
        const canceled = await runs.cancel(tx, entityId, identifier);
        if (!canceled) refuse(400, 'bad_request', 'The run has ended already');
        await audit(tx, who, {
          action: 'update',
          subjectKind,
          subject: identifier,
          details: { change: 'canceled' },
        });
        return keepReply(tx, await showOne(tx, (await runs.find(tx, entityId, identifier))!));
      });
      const next = await findNextJob(deps.db, runs.kind, entityId, runs.ownerOf(run));
      if (next) await startSoon(deps, log, runs.kind, next);
      return answer;
    },
  };
}

/** Changes an owner by `apply`, which may refuse, and its Schedule. Returns the owner. */
export async function changeOwner<R extends Run, NewRun, O extends Owner, Shown, ShownOwner>(
  { runs, ownerKind, knownOwner, showOwner, followOwner }: RunKind<R, NewRun, O, Shown, ShownOwner>,
  deps: RouteDependencies,
  { log, keepReply, ...who }: Who,
  owner: string,
  change: string,
  apply: (tx: Tx, owner: O) => Promise<void>,
): Promise<ShownOwner> {
  const { entityId } = who.caller;
  const answer = await write(deps.db, async (tx) => {
    await apply(tx, await knownOwner(tx, entityId, owner, runs.owners.lock));
    await audit(tx, who, { action: 'update', subjectKind: ownerKind, subject: owner, details: { change } });
    return keepReply(tx, await showOwner(tx, await knownOwner(tx, entityId, owner)));
  });
  const changed = await runs.owners.find(deps.db, entityId, owner);
  if (changed) await followOwner(deps, log, changed);
  return answer;
}

/** Returns a function that shows facts of other tables about a run. `rootOf`: the run that it repeats. */
export async function showOfOthers<R extends Run>(
  db: Queryable,
  kind: 'sync' | 'export',
  entityId: number,
  runs: R[],
  rootOf: (run: R) => number | null,
) {
  const [ids, names] = [runs.map(({ id }) => id), runs.map(({ identifier }) => identifier)];
  const rootIds = runs.flatMap((run) => rootOf(run) ?? []);
  const roots = await listJobIdentifiers(db, kind, entityId, rootIds);
  const alerted = await listRunAlerts(db, kind, entityId, ids);
  const errorOf = await findInternalErrors(db, kind, entityId, names);
  return (run: R) => ({
    root: roots.get(rootOf(run) ?? 0) ?? null,
    alerted: alerted.get(run.id) ?? [],
    internalError: errorOf(run.identifier),
  });
}

export type ShownOfOthers = ReturnType<Awaited<ReturnType<typeof showOfOthers>>>;
