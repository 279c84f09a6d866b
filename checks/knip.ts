import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Check, Finding } from './check.ts';
import { runTool } from './run-tool.ts';

type Name = { name: string; line?: number };
type Issue = { file: string } & Record<string, (Name | Name[])[]>;
type Output = { issues: Issue[] };

const CONFIG = resolve('knip.json');

export const knip: Check = {
  name: 'knip',

  rules: issueTypes,

  async run(root) {
    const output = await runTool('knip', ['--config', CONFIG, '--reporter', 'json', '--no-config-hints'], root);
    const types = await issueTypes();
    const { issues } = JSON.parse(output) as Output;
    return { findings: issues.flatMap((issue) => types.flatMap((rule) => toFindings(rule, issue))) };
  },
};

async function issueTypes(): Promise<string[]> {
  return (JSON.parse(await readFile(CONFIG, 'utf8')) as { include: string[] }).include;
}

/** A name that stands alone, or, for duplicates, all names of one thing. */
function toFindings(rule: string, issue: Issue): Finding[] {
  return (issue[rule] ?? []).map((found) => {
    const names = Array.isArray(found) ? found : [found];
    return { rule, file: issue.file, line: names[0]?.line, message: names.map(({ name }) => name).join(', ') };
  });
}
