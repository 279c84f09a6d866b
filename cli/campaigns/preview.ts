/** `millrace campaigns preview`: the messages of a campaign as devices show them. */
import type { Command } from 'commander';
import type { BodyOf, CampaignPreview } from '../../api/client.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { recordTable } from '../core/group.ts';
import { readJsonObject } from '../core/read-input.ts';
import { table } from '../core/table.ts';

type Options = { variant?: string; vars?: string; user?: string };

export function addPreviewCommand(campaigns: Command, run: Run): void {
  campaigns
    .command('preview')
    .description('show its messages as iOS, Android and browsers cut them, with their sizes')
    .argument('<campaign>', 'its identifier, or its campaign_api_identifier')
    .option('--variant <variant>', 'name or identifier of a variant')
    .option('--vars <file>', 'a JSON file with the values of placeholders; - for standard input')
    .option('--user <user>', 'with the values of this user; needs sor_manage, and is written into the audit log')
    .action((id: string, options: Options) => run((context) => preview(context, id, options)));
}

async function preview(context: CommandContext, campaign: string, { variant, vars, user }: Options): Promise<number> {
  const { client, setResult } = context;
  const templateVars = vars === undefined ? undefined : await readJsonObject(context, vars, 'write {"name": "Ada"}');
  const body = { campaign, variant, templateVars, user } as BodyOf<'previewCampaign'>;
  const shown = await client.previewCampaign({ body });
  setResult(shown);
  print(context, shown);
  return 0;
}

function print({ console, terminal }: CommandContext, { values, problems, push, inapp }: CampaignPreview): void {
  const rows = (push?.platforms ?? []).map(({ platform, title, body, bytes, max_bytes: most }) => [
    platform,
    `${bytes} of ${most}`,
    title ?? '',
    body,
  ]);
  if (rows.length > 0) console.log(table(['platform', 'bytes', 'title', 'text'], rows, terminal.width));
  if (inapp !== null && inapp.code === null) {
    const { title, content, button, content_url: page, bytes, max_bytes: most } = inapp;
    console.log(
      `\n${recordTable({ 'in the app': title, text: content, button, page, bytes: `${bytes} of ${most}` }, terminal.width)}`,
    );
  }
  const sources = values.map(({ name, text, source }) => [name, text, source]);
  if (sources.length > 0) console.log(`\n${table(['placeholder', 'shows', 'source'], sources, terminal.width)}`);
  for (const code of new Set([push?.code, inapp?.code])) if (code) console.error(`It would not be sent: ${code}`);
  for (const { element, message } of problems) console.error(`${element} ${message}`);
}
