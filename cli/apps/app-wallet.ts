/** The commands of `millrace apps wallet`: the data wallet as one JSON document, read and set as a whole. */
import type { Command } from 'commander';
import type { Client, DataCategory, LegalText, Purpose, Recipient } from '../../api/client.ts';
import { DEFAULT_CATEGORIES, DEFAULT_RECIPIENT } from '../../domain/apps/wallet-defaults.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { readJsonObject } from '../core/read-input.ts';
import { printable, table } from '../core/table.ts';
import { APP, appParams } from './find-app.ts';

type AppParams = { app_identifier: string };
type Named = { technical_name: string };
type WalletDocument = {
  languages: string[];
  legal_texts: Named[];
  categories: Named[];
  recipients: Named[];
  purposes: Named[];
};
/** Members of the document in the order in which they refer to each other: recipients name categories. */
const MEMBERS = ['legal_texts', 'categories', 'recipients', 'purposes'] as const;
type Member = (typeof MEMBERS)[number];

const HINT =
  'write it as {"languages": ["en"], "legal_texts": […], "categories": […], "recipients": […], "purposes": […]}';

export function addWalletCommands(apps: Command, run: Run): void {
  const wallet = apps.command('wallet').description('what an app tells its users about their data');
  wallet
    .command('view', { isDefault: true })
    .description('show the wallet; with --json as `set` takes it')
    .argument(...APP)
    .action((app: string) => run((context) => view(context, app)));
  wallet
    .command('set')
    .description('set languages, texts, categories, recipients and purposes from a JSON file, by technical name')
    .argument(...APP)
    .argument('<file>', 'as `view --json` prints it; members that it leaves out stay; - for standard input')
    .option('--prune', 'delete also what a list of the file does not have')
    .action((app: string, file: string, options: { prune?: true }) =>
      run((context) => set(context, app, file, options)),
    );
}

async function view({ client, console, terminal, setResult }: CommandContext, given: string): Promise<number> {
  const document = await readWallet(client, await appParams(client, given));
  setResult(document);
  console.log(`languages ${document.languages.join(', ') || 'none'}`);
  const rows = MEMBERS.flatMap((member) =>
    document[member].map((each) => {
      const { title = {} } = each as { title?: Record<string, string> };
      const missing = document.languages.filter((code) => 'title' in each && !title[code]);
      return [member.replace('_', ' '), each.technical_name, missing.join(', ')];
    }),
  );
  console.log(table(['kind', 'name', 'not translated'], rows, terminal.width));
  return 0;
}

async function readWallet(client: Client, params: AppParams): Promise<WalletDocument> {
  const { languages } = await client.viewWalletLanguages({ params });
  const { legal_texts, categories, recipients, purposes } = await listAll(client, params);
  return {
    languages: languages.map(({ identifier }) => identifier),
    legal_texts: legal_texts.map(({ technical_name, title, text }) => ({ technical_name, title, text })),
    categories: categories
      .filter((each) => !isDefault('categories', each))
      .map(({ technical_name, title, description }) => ({ technical_name, title, description })),
    recipients: recipients
      .filter((each) => !isDefault('recipients', each))
      .map(({ technical_name, display_name, data_elements }) => ({
        technical_name,
        display_name,
        data_elements: data_elements.map((each) => ({
          technical_name: each.technical_name,
          display_name: each.display_name,
          data_category: { technical_name: each.data_category.technical_name },
        })),
      })),
    purposes: purposes.map(({ technical_name, title, description, data_elements }) => ({
      technical_name,
      title,
      description,
      data_elements: data_elements.map((each) => ({ technical_name: each.technical_name, recipient: each.recipient })),
    })),
  };
}

type Objects = {
  legal_texts: LegalText[];
  categories: DataCategory[];
  recipients: Recipient[];
  purposes: Purpose[];
};

async function listAll(client: Client, params: AppParams): Promise<Objects> {
  const [legal_texts, categories, recipients, purposes] = await Promise.all([
    client.listLegalTexts({ params }),
    client.listDataCategories({ params }),
    client.listRecipients({ params }),
    client.listPurposes({ params }),
  ]);
  return { legal_texts, categories, recipients, purposes };
}

function isDefault(member: Member, { technical_name: name }: Named): boolean {
  if (member === 'recipients') return name === DEFAULT_RECIPIENT.technicalName;
  return member === 'categories' && DEFAULT_CATEGORIES.some(({ technicalName }) => technicalName === name);
}

async function set(context: CommandContext, given: string, file: string, { prune }: { prune?: true }): Promise<number> {
  const { client, console, setResult } = context;
  const document = (await readJsonObject(context, file, HINT)) as Partial<WalletDocument>;
  const unknown = Object.keys(document).find((name) => name !== 'languages' && !MEMBERS.some((each) => each === name));
  if (unknown !== undefined) refuse(400, 'bad_request', `"${unknown}" is no member of a wallet: ${HINT}.`);
  const params = await appParams(client, given);
  if (document.languages !== undefined)
    await client.updateWalletLanguages({
      params,
      body: { languages: document.languages.map((identifier) => ({ identifier })) },
    });
  const known = await listAll(client, params);
  const counts = { created: 0, changed: 0, deleted: 0 };
  const operations = operationsOf(client, params);
  for (const member of MEMBERS) {
    const wanted = (document[member] ?? []).filter((each) => !isDefault(member, each));
    for (const body of wanted) {
      const before = known[member].find(({ technical_name: name }) => name === body.technical_name);
      if (before === undefined) await operations[member].create(body);
      else await operations[member].patch(before.identifier!, body);
      counts[before === undefined ? 'created' : 'changed'] += 1;
    }
  }
  // Purposes go first: a recipient or category that one names is in use.
  for (const member of prune ? MEMBERS.toReversed() : []) {
    const wanted = document[member];
    for (const each of wanted === undefined ? [] : known[member]) {
      if (isDefault(member, each) || wanted!.some(({ technical_name: name }) => name === each.technical_name)) continue;
      await operations[member].delete(each.identifier!);
      counts.deleted += 1;
    }
  }
  setResult(counts);
  console.log(printable(`${counts.created} made, ${counts.changed} set, ${counts.deleted} deleted`));
  return 0;
}

type Operations = {
  create: (body: object) => Promise<unknown>;
  patch: (id: string, body: object) => Promise<unknown>;
  delete: (id: string) => Promise<unknown>;
};

/** The server checks the bodies, which come from a file. */
function operationsOf(client: Client, params: AppParams): Record<Member, Operations> {
  const at = <P extends string>(param: P, id: string) => ({ ...params, [param]: id });
  return {
    legal_texts: {
      create: (body) => client.createLegalText({ params, body: body as never }),
      patch: (id, body) => client.patchLegalText({ params: at('legal_text_identifier', id), body }),
      delete: (id) => client.deleteLegalText({ params: at('legal_text_identifier', id) }),
    },
    categories: {
      create: (body) => client.createDataCategory({ params, body: body as never }),
      patch: (id, body) => client.patchDataCategory({ params: at('category_identifier', id), body }),
      delete: (id) => client.deleteDataCategory({ params: at('category_identifier', id) }),
    },
    recipients: {
      create: (body) => client.createRecipient({ params, body: body as never }),
      patch: (id, body) => client.patchRecipient({ params: at('recipient_identifier', id), body }),
      delete: (id) => client.deleteRecipient({ params: at('recipient_identifier', id) }),
    },
    purposes: {
      create: (body) => client.createPurpose({ params, body: body as never }),
      patch: (id, body) => client.patchPurpose({ params: at('purpose_identifier', id), body }),
      delete: (id) => client.deletePurpose({ params: at('purpose_identifier', id) }),
    },
  };
}
