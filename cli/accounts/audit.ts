/** The command `millrace audit`. */
import { type Command, Option } from 'commander';
import type { AuditEntry } from '../../api/client.ts';
import { ACTOR_KINDS, AUDIT_ACTIONS, SUBJECT_KINDS } from '../../domain/accounts/audit.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { sayValue, table } from '../core/table.ts';
import { writeOut } from '../core/write-out.ts';

type Options = {
  since?: string;
  until?: string;
  action?: string;
  subjectKind?: string;
  subject?: string;
  actorKind?: string;
  actor?: string;
  customer?: string;
  device?: true;
  limit: string;
  csv?: true;
  output?: string;
};

const MAX_ENTRIES = 10_000;

export const addAuditCommand = (program: Command, run: Run) =>
  program
    .command('audit')
    .description('read the audit log, newest first')
    .option('--since <time>', 'an instant such as 2026-11-20T23:00:00Z')
    .option('--until <time>', 'before this instant')
    .addOption(new Option('--action <action>').choices(AUDIT_ACTIONS))
    .addOption(new Option('--subject-kind <kind>', 'kind of the object').choices(SUBJECT_KINDS))
    .option('--subject <identifier>', 'identifier of the object')
    .addOption(new Option('--actor-kind <kind>', 'what acted').choices(ACTOR_KINDS))
    .option('--actor <identifier>', 'uid of a user, identifier of a service token or System of Records')
    .option('--customer <id>', 'entries that concern this user')
    .option('--device', 'the customer is the id of a device')
    .option('--limit <n>', 'maximum number of entries, from 1 to 10,000; with --csv all', '100')
    .addOption(new Option('--csv', 'all of them as a CSV file').conflicts('json'))
    .option('--output <file>', 'write the CSV file here')
    .action((options: Options) => run((context) => read(context, options)));

async function read(context: CommandContext, options: Options): Promise<number> {
  const {
    client,
    console,
    terminal: { width },
    setResult,
  } = context;
  const query = {
    from: options.since,
    till: options.until,
    action: options.action,
    subject_kind: options.subjectKind,
    subject: options.subject,
    actor_kind: options.actorKind,
    actor: options.actor,
    customer_id: options.customer,
    customer_id_type: options.device ? 'device_id' : undefined,
  };
  if (options.csv) {
    await writeOut(context, await client.stream.exportAuditLog({ query }), options.output);
    return 0;
  }
  const limit = Number(options.limit);
  const isWithin = Number.isSafeInteger(limit) && limit >= 1 && limit <= MAX_ENTRIES;
  if (!isWithin) refuse(400, 'bad_limit', '--limit takes a whole number from 1 to 10,000.');
  const entries: AuditEntry[] = [];
  for await (const entry of client.each.listAuditEntries({ query: { ...query, per_page: Math.min(limit, 1_000) } })) {
    entries.push(entry);
    if (entries.length === limit) break;
  }
  setResult(entries);
  console.log(
    table(
      ['at', 'who', 'from', 'action', 'what', 'subject', 'details'],
      entries.map((entry) => [
        entry.date.slice(0, 19),
        entry.actor_name ?? entry.actor ?? entry.actor_kind,
        entry.address ?? '',
        entry.action,
        entry.subject_kind,
        entry.subject ?? '',
        sayValue(entry.details),
      ]),
      width,
    ),
  );
  return 0;
}
