/** Routes that request files. */
import type { z } from 'zod';
import type { FileExport } from '../../api/files/file-exports.ts';
import type { FileFormat } from '../../domain/files/file-format.ts';
import type { AuditEntry } from '../../store/accounts/audit-log.ts';
import { findEmail } from '../../store/accounts/users.ts';
import { write } from '../../store/core/database.ts';
import { findOrInsertFileJob } from '../../store/files/file-jobs.ts';
import { fileUrl } from '../../store/files/file-link.ts';
import type { FileKind, FileQuery } from '../../store/files/file-sources.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { auditEach } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { type Circumstances, type Route, route } from '../http/route.ts';
import { startSoon } from '../jobs/start-soon.ts';

export type AskedFile<Kind extends FileKind = FileKind> = {
  kind: Kind;
  query: FileQuery<Kind>;
  audits: Omit<AuditEntry, 'actorKind' | 'actorId' | 'address' | 'action'>[];
};

type Who = Circumstances & { caller: Caller };
type Input<P extends z.ZodObject, Q extends z.ZodObject> = Who & { params: z.output<P>; query: z.output<Q> };

export function fileRoutes<P extends z.ZodObject, Q extends z.ZodObject>(
  [plain, formatted]: FileExport<P, Q>,
  check: (input: Input<P, Q>, deps: RouteDependencies) => Promise<AskedFile>,
): Route[] {
  type Asked = Who & { params: { format?: FileFormat }; query: { skip_email?: boolean | undefined } };
  const handle = async (input: Asked, deps: RouteDependencies) => {
    const asked = await check(input as unknown as Input<P, Q>, deps);
    return begin(asked, input, deps, { format: input.params.format ?? 'xls', isMailed: !input.query.skip_email });
  };
  return [route(plain, handle as never), route(formatted, handle as never)];
}

async function begin(
  { kind, query, audits }: AskedFile,
  who: Who,
  deps: RouteDependencies,
  { format, isMailed }: { format: FileFormat; isMailed: boolean },
): Promise<string | { callback: string }> {
  const { db, secrets, settings } = deps;
  const { entityId, userId } = who.caller;
  const { ref, email } = await write(
    db,
    async (tx) => {
      // For a service token: its creator.
      const address = isMailed ? await findEmail(tx, userId) : null;
      const job = await findOrInsertFileJob(tx, secrets, entityId, {
        kind,
        format,
        query,
        email: address,
        createdBy: userId,
      });
      await auditEach(
        tx,
        who,
        audits.map((entry) => ({
          ...entry,
          action: 'export' as const,
          details: { ...entry.details, file: job.identifier },
        })),
      );
      return { ref: job, email: address };
    },
    { collide: true },
  );
  await startSoon(deps, who.log, 'file', ref);
  return email === null
    ? { callback: fileUrl(settings.publicUrl, secrets, ref.identifier) }
    : `The report is being generated and will be sent to ${email}`;
}
