/** The command `millrace verify`: checks signatures of receipts, deletion lists and manifests. */
import type { Command } from 'commander';
import { refuse } from '../../domain/core/refusal.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { readJsonObject } from '../core/read-json.ts';
import { escapeControls } from '../core/readable.ts';
import { readJwks } from './read-jwks.ts';
import { isSound, reportDocument, verifyOne } from './verified-document.ts';

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

/** Returns the receipts in a server's answer, with or without its envelope. */
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
