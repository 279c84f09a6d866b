/** The command `millrace verify`: checks signatures of receipts, deletion lists and manifests. */
import type { Command } from 'commander';
import { refuse } from '../../domain/core/refusal.ts';
import { type SignatureState, type SigningKey, verifyDocument } from '../../domain/core/signed-document.ts';
import { type ExportManifest, manifestSchema } from '../../domain/exports/export-manifest.ts';
import { type DeletionList, deletionListSchema } from '../../domain/gdpr/deletion-list.ts';
import { type GdprReceipt, receiptSchema } from '../../domain/gdpr/gdpr-receipt.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { readJsonObject } from '../core/read-input.ts';
import { escapeControls } from '../core/write-out.ts';
import { printable } from '../core/table.ts';
import { readJwks } from './read-jwks.ts';

type Options = { jwks: string; json?: true };

const HINT = 'give a receipt, the answer that has several, a deletion list, or the manifest.json of an export';

export const addVerifyDocumentCommand = (program: Command, run: Run) =>
  program
    .command('verify')
    .description('verify the signature of a receipt, a deletion list or a manifest, without a server')
    .argument('<file>', 'as `millrace gdpr receipt` writes it, or as the bucket has it; - is standard input')
    .requiredOption('--jwks <file|url>', "the server's public keys, /.well-known/jwks.json")
    .option('--json', 'print what was found as JSON')
    .action((file: string, options: Options) => run((context) => verify(context, file, options)));

async function verify({ stdin, console }: CommandContext, file: string, { jwks, json }: Options): Promise<number> {
  const documents = documentsIn(await readJsonObject({ stdin }, file, HINT));
  const keys = await readJwks({ stdin }, jwks);
  const verified = documents.map((document) => verifyOne(document, keys));
  const ok = verified.every(isSound);
  console.log(
    json
      ? escapeControls(JSON.stringify({ ok, documents: verified }, null, 2))
      : verified.map(reportDocument).join('\n\n'),
  );
  return ok ? 0 : 1;
}

function documentsIn(given: object): object[] {
  const { result = given } = given as { result?: object };
  const { receipts, items = receipts } = result as { receipts?: unknown; items?: unknown };
  if (items === undefined) return [result];
  const documents = Array.isArray(items)
    ? items.filter((item): item is object => typeof item === 'object' && item !== null)
    : [];
  return documents.length > 0 && documents.length === (items as unknown[]).length
    ? documents
    : refuse(400, 'no_receipts', `There are no receipts in it: ${HINT}.`);
}

type Facts =
  | { kind: 'receipt'; facts: GdprReceipt }
  | { kind: 'deletion list'; facts: DeletionList }
  | { kind: 'manifest'; facts: ExportManifest }
  | { kind: 'unknown'; facts: null };

type VerifiedDocument = Facts & {
  id: string | null;
  signature: SignatureState;
  keyId: string | null;
};

const KINDS = [
  ['receipt', receiptSchema],
  ['deletion list', deletionListSchema],
  ['manifest', manifestSchema],
] as const;

function verifyOne(document: object, keys: readonly SigningKey[]): VerifiedDocument {
  const { receipt, list, run, signature } = document as Record<string, unknown>;
  const named = [receipt, list, run].find((id): id is string => typeof id === 'string') ?? null;
  const keyId = (signature as { key_id?: unknown } | undefined)?.key_id;
  return {
    ...factsOf(document),
    id: named,
    signature: verifyDocument(document, keys),
    keyId: typeof keyId === 'string' ? keyId : null,
  };
}

function factsOf(document: object): Facts {
  for (const [kind, schema] of KINDS) {
    const { data } = schema.safeParse(document);
    if (data) return { kind, facts: data } as Facts;
  }
  return { kind: 'unknown', facts: null };
}

/** Returns whether signature and form are valid and, for an erasure, nothing was left. */
function isSound(verified: VerifiedDocument): boolean {
  return verified.signature === 'valid' && verified.kind !== 'unknown' && survivorsOf(verified) === 0;
}

function survivorsOf({ facts }: VerifiedDocument): number {
  return facts && 'subjects' in facts && facts.type === 'erasure' ? sum(facts.places, ({ survivors }) => survivors) : 0;
}

function reportDocument(verified: VerifiedDocument): string {
  const { id, kind, facts } = verified;
  const title = kind === 'unknown' ? 'document' : kind;
  const lines =
    kind === 'receipt'
      ? receiptLines(facts)
      : kind === 'manifest'
        ? manifestLines(facts)
        : kind === 'deletion list'
          ? listLines(facts)
          : ['It is of no form that this version knows.'];
  const claimed = verified.signature === 'valid' ? [] : ['What it says, unverified:'];
  return [
    `${[title, ...(id === null ? [] : [printable(id)])].join(' ')}: ${verdict(verified)}`,
    ...claimed,
    ...lines,
  ].join('\n');
}

function verdict({ signature, keyId }: VerifiedDocument): string {
  switch (signature) {
    case 'valid':
      return `valid, signed by ${printable(keyId ?? '')}`;
    case 'invalid':
      return 'TAMPERED: it is not as it was signed';
    case 'unknown_key':
      return `UNKNOWN KEY: none of the keys given is ${printable(keyId ?? '')}, which it names. Are they this server's?`;
    case 'unsigned':
      return 'UNSIGNED';
  }
}

function receiptLines(receipt: GdprReceipt): string[] {
  const { request, round, source, requested_at: at, requested_by: by, subjects } = receipt;
  const ids = sum(subjects, ({ identifiers }) => identifiers.user_id + identifiers.device_id);
  return [
    `of ${receipt.type}, request ${request}, round ${round}, of entity ${receipt.entity}, issued ${receipt.issued_at}`,
    `asked for ${at} by ${by.kind} ${by.id ?? ''} (${source})`,
    `${counted(subjects.length, 'person', 'people')}, known by ${counted(ids, 'id', 'ids')}`,
    ...subjects.map(
      ({ subject, left_alone: left = [] }) =>
        `  ${subject}${left.length === 0 ? '' : `, ${counted(left.length, 'id', 'ids')} left alone`}`,
    ),
    ...(receipt.type === 'access' ? accessLines(receipt) : erasureLines(receipt)),
  ].map(printable);
}

function accessLines({ places, archives }: Extract<GdprReceipt, { type: 'access' }>): string[] {
  return [
    `${sum(places, ({ shown }) => shown)} rows and files were shown, of ${counted(places.length, 'place', 'places')}`,
    ...archives.map(({ sha256, bytes }) => `archive of ${bytes} bytes, SHA-256 ${sha256}`),
  ];
}

function erasureLines({
  places,
  copies,
  kept,
  kept_values: values = [],
  tombstones_at: at,
}: Extract<GdprReceipt, { type: 'erasure' }>): string[] {
  const survivors = sum(places, (place) => place.survivors);
  return [
    `nothing of them was taken in from ${at} on`,
    `${sum(places, ({ erased }) => erased)} rows and files were erased, in ${counted(places.length, 'place', 'places')}; ` +
      (survivors === 0 ? 'a second look found 0 survivors' : `SURVIVORS: ${survivors}`),
    ...places
      .filter((place) => place.erased + place.survivors > 0)
      .map((place) => `  ${place.place}: ${place.erased} erased, ${place.survivors} survivors`),
    ...copies.map(
      ({ kind, id, state, list, reason }) =>
        `copy of ${kind} ${id}: ${state.replace('_', ' ')}${list === null ? '' : ` by ${list}`}${reason === null ? '' : `. ${reason}`}`,
    ),
    ...kept.map(({ place, why, until }) => `kept: ${place}, ${why}${until === null ? '' : `, until ${until}`}`),
    ...values.map(({ place, object, key, values: count }) =>
      place === 'outbox/'
        ? `kept: ${object}, which is no mail`
        : place === 'gdpr_holds'
          ? `kept: the reason of hold ${object}, which names an id`
          : `kept: ${counted(count, 'value', 'values')} of ${key ?? 'a key'} in ${object}, though an id is the same`,
    ),
  ];
}

function listLines({
  exporter,
  request,
  erased_at: at,
  identifiers: { user_id: users, device_id: devices },
}: DeletionList): string[] {
  return [
    `of exporter ${exporter}, request ${request}: ${users.length} user ids and ${devices.length} device ids, erased at ${at}`,
  ].map(printable);
}

function manifestLines({ exporter, window, types, rows, bytes }: ExportManifest): string[] {
  const files = types.flatMap((type) => type.files).length;
  return [
    printable(`of exporter ${exporter}, window ${window.start ?? 'the beginning'} to ${window.end}`),
    `${files} files, ${rows} rows, ${bytes} bytes`,
    'Whether the files are there: millrace exporters verify',
  ];
}

const counted = (count: number, one: string, more: string) => `${count} ${count === 1 ? one : more}`;

function sum<T>(all: readonly T[], of: (one: T) => number): number {
  return all.reduce((total, one) => total + of(one), 0);
}
