import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Check } from './check.ts';
import { runTool } from './run-tool.ts';

type Config = { forbidden: { name: string }[] };
type Output = {
  modules: { source: string }[];
  summary: { violations: { from: string; to: string; rule: { name: string } }[] };
};

const CODE_OF_OURS = /^(?!.*node_modules\/).*\.(?:ts|js|mjs)$/;
const CONFIG = resolve('.dependency-cruiser.mjs');

export const dependencyCruiser: Check = {
  name: 'dependency-cruiser',

  async rules() {
    const { default: config } = (await import(pathToFileURL(CONFIG).href)) as { default: Config };
    return config.forbidden.map(({ name }) => name);
  },

  async run(root) {
    const output = await runTool('depcruise', ['--config', CONFIG, '--output-type', 'json', '.'], root);
    const { modules, summary } = JSON.parse(output) as Output;
    const findings = summary.violations.map(({ from, to, rule }) => ({
      rule: rule.name,
      file: from,
      message: `imports ${to}`,
    }));
    return { findings, filesLookedAt: modules.filter(({ source }) => CODE_OF_OURS.test(source)).length };
  },
};
