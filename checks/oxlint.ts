/** Check by oxlint, with its report as findings. */
import { readFile } from 'node:fs/promises';
import { type Check, type Finding, fixturesOf } from './check.ts';
import { runTool } from './run-tool.ts';

/** `code` is missing where no rule is broken: a file that can't be read, a directive that does nothing. */
type Diagnostic = { code?: string; message: string; filename: string; labels: { span: { line: number } }[] };
type Output = { number_of_files: number; diagnostics: Diagnostic[] };
type RuleTable = Record<string, unknown>;

/** `typescript(no-floating-promises)`, and `eslint(eqeqeq)` for the rules without a plugin. */
const CODE = /^(?<plugin>[\w-]+)\((?<rule>[\w-]+)\)$/;
const CONFIG = '.oxlintrc.json';
/** The same rules, for paths from the fixtures on; without a dot, so that oxlint does not find it by itself. */
const CONFIG_OF_FIXTURES = 'oxlintrc.json';
const OPTIONS = ['--type-aware', '--report-unused-disable-directives-severity', 'error', '--format', 'json'];
/** Stands for all that the category `correctness` turns on. */
const OF_CATEGORY = 'no-debugger';
const UNUSED_DIRECTIVE = 'unused-disable-directive';

export const oxlint: Check = {
  name: 'oxlint',

  async rules() {
    const withoutComments = (await readFile(CONFIG, 'utf8')).replace(/^[ \t]*\/\/.*$/gm, '');
    const { rules, overrides } = JSON.parse(withoutComments) as { rules: RuleTable; overrides: { rules: RuleTable }[] };
    const settings = [rules, ...overrides.map((override) => override.rules)].flatMap(Object.entries);
    const named = settings.filter(([, setting]) => setting !== 'off').map(([rule]) => rule);
    return [OF_CATEGORY, UNUSED_DIRECTIVE, ...named];
  },

  async run(root) {
    const config = root === fixturesOf('oxlint') ? CONFIG_OF_FIXTURES : CONFIG;
    const output = JSON.parse(await runTool('oxlint', ['--config', config, ...OPTIONS], root)) as Output;
    return { findings: output.diagnostics.map(toFinding), filesLookedAt: output.number_of_files };
  },
};

function toFinding(diagnostic: Diagnostic): Finding {
  const { filename, labels, message } = diagnostic;
  return { rule: ruleOf(diagnostic), file: filename, line: labels[0]?.span.line, message };
}

function ruleOf({ code, message }: Diagnostic): string {
  if (code === undefined) return /^Unused .* directive/.test(message) ? UNUSED_DIRECTIVE : 'no rule';
  const { plugin, rule } = CODE.exec(code)?.groups ?? {};
  return plugin === 'eslint' ? (rule ?? code) : `${plugin}/${rule}`;
}
