// What the API does with runs of syncs and of exporters alike: list, show, start and cancel them.
import { refuse } from '../../domain/core/refusal.ts';
import { type JobRef, jobRefOf } from '../../domain/jobs/job.ts';
import { type Queryable, type Tx, write } from '../../store/core/database.ts';
import { findNextJob, listJobIdentifiers } from '../../store/jobs/jobs.ts';
import { listRunAlerts } from '../../store/jobs/run-alerts.ts';
import type { Runs } from '../../store/jobs/runs.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { audit } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { rowsOf, showPage } from '../http/page.ts';
import type { Circumstances, KeepReply } from '../http/route.ts';
import { findInternalErrors } from './show-internal-error.ts';
import { startSoon } from './start-soon.ts';

type RunRow = Parameters<typeof jobRefOf>[0];
type Who = Pick<Circumstances, 'address' | 'log'> & { caller: Caller; keepReply: KeepReply };
type Query = Parameters<typeof rowsOf>[0];
/** What tells the runs of a feature apart in the API. */
type ServedRuns<Run extends RunRow, NewRun, Owner extends { id: number; identifier: string }, Shown> = {
  runs: Runs<Run, Owner>;
  insert(tx: Tx, owner: Owner, run: NewRun & { requestedBy: number }): Promise<Run | null>;
  /** Refuses if there is no such owner. */
  known(db: Queryable, entityId: number, identifier: string, find?: Runs<Run, Owner>['owners']['lock']): Promise<Owner>;
  /** The path of an owner's runs. */
  pathOf(owner: string): string;
  /** `isListed`: in a list, or just started. */
  show(db: Queryable, entityId: number, runs: Run[], isListed: boolean): Promise<Shown[]>;
};

/** Returns what the routes of a feature do with its runs. Identifiers come from the caller. */
export function servedRuns<Run extends RunRow, NewRun, Owner extends { id: number; identifier: string }, Shown>({
  runs,
  insert,
  known,
  pathOf,
  show,
}: ServedRuns<Run, NewRun, Owner, Shown>) {
  const subjectKind = `${runs.kind}_run` as const;
  const showOne = async (db: Queryable, run: Run, isListed = false) =>
    (await show(db, run.entityId, [run], isListed))[0]!;

  async function knownRun(db: Queryable, entityId: number, owner: string, identifier: string): Promise<Run> {
    const { id } = await known(db, entityId, owner);
    const run = await runs.find(db, entityId, identifier);
    return run && runs.ownerOf(run) === id ? run : refuse(404, 'not_found', 'Run not found');
  }

  return {
    known: knownRun,

    async list({ db, settings }: RouteDependencies, entityId: number, owner: string, query: Query) {
      const { id } = await known(db, entityId, owner);
      const shown = await show(db, entityId, await runs.list(db, entityId, id, rowsOf(query)), true);
      return showPage(settings, pathOf(owner), query, await runs.count(db, entityId, id), shown);
    },

    async view({ db }: RouteDependencies, entityId: number, owner: string, identifier: string) {
      return showOne(db, await knownRun(db, entityId, owner, identifier));
    },

    /** The run with the identifier of its owner. */
    async find({ db }: RouteDependencies, entityId: number, identifier: string) {
      const run = await runs.find(db, entityId, identifier);
      const owner = run && (await runs.owners.findById(db, entityId, runs.ownerOf(run)));
      if (!owner) return refuse(404, 'not_found', 'Run not found');
      return { owner: owner.identifier, shown: await showOne(db, run) };
    },

    /** Writes a run as `plan` says it, which may refuse, and starts it. The audit log gets the details. */
    async start(
      deps: RouteDependencies,
      { log, keepReply, ...who }: Who,
      owner: string,
      plan: (tx: Tx, owner: Owner) => Promise<{ run: NewRun; details: object; isListed?: boolean }>,
    ): Promise<Shown> {
      const { entityId, userId } = who.caller;
      let ref: JobRef | null = null;
      const answer = await write(deps.db, async (tx) => {
        const held = await known(tx, entityId, owner, runs.owners.lock);
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

    /** Cancels a run, and starts the next one of its owner. */
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

/** Returns what the records of runs show of other tables, as a function of a run. `rootOf`: the run that it repeats. */
export async function showOfOthers<Run extends RunRow>(
  db: Queryable,
  kind: 'sync' | 'export',
  entityId: number,
  runs: Run[],
  rootOf: (run: Run) => number | null,
) {
  const [ids, names] = [runs.map(({ id }) => id), runs.map(({ identifier }) => identifier)];
  const rootIds = runs.flatMap((run) => rootOf(run) ?? []);
  const roots = await listJobIdentifiers(db, kind, entityId, rootIds);
  const alerted = await listRunAlerts(db, kind, entityId, ids);
  const errorOf = await findInternalErrors(db, kind, entityId, names);
  return (run: Run) => ({
    root: roots.get(rootOf(run) ?? 0) ?? null,
    alerted: alerted.get(run.id) ?? [],
    internalError: errorOf(run.identifier),
  });
}

export type ShownOfOthers = ReturnType<Awaited<ReturnType<typeof showOfOthers>>>;
