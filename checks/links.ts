/** Check of the links in Markdown files: each leads to an existing file and heading. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import type { Check, Finding } from './check.ts';
import { projectFiles } from './project-files.ts';

/** `[text](target)` and `![text](target "title")`. */
const INLINE = /\]\((?<target>[^()\s]+)(?:\s+"[^"]*")?\)/g;
/** `[name]: target`. */
const REFERENCE = /^\[.+?\]:[ \t]+(?<target>\S+)/gm;
const ELSEWHERE = /^(?:[a-z][\w+.-]*:|\/\/)/i;
const FENCED = /^(?<fence>```|~~~)[^]*?^\k<fence>/gm;

/** The relative links of README, SECURITY.md and the docs lead somewhere, and to a heading that is there. */
export const links: Check = {
  name: 'links',

  rules: async () => ['dead-link', 'dead-anchor'],

  async run(root) {
    const files = (await projectFiles(root)).filter((file) => /^[A-Z]+\.md$/.test(file) || /^docs\/.*\.md$/.test(file));
    const findings = await Promise.all(files.map((file) => checkLinks(root, file)));
    return { findings: findings.flat(), filesLookedAt: files.length };
  },
};

async function checkLinks(root: string, file: string): Promise<Finding[]> {
  const targets = linkTargets(await readFile(join(root, file), 'utf8'));
  const findings = await Promise.all(
    targets.map(async ({ target, line }): Promise<Finding | undefined> => {
      const [path = '', anchor] = target.split('#');
      const linked = path === '' ? file : normalize(join(dirname(file), decodeURI(path)));
      if (!existsSync(join(root, linked))) return { rule: 'dead-link', file, line, message: target };
      if (anchor === undefined || !linked.endsWith('.md')) return undefined;
      const isThere = anchors(await readFile(join(root, linked), 'utf8')).includes(anchor);
      return isThere ? undefined : { rule: 'dead-anchor', file, line, message: target };
    }),
  );
  return findings.filter((finding) => finding !== undefined);
}

/** Returns the targets of a Markdown text's links within the project, without those in code blocks. */
export function linkTargets(markdown: string): { target: string; line: number }[] {
  const prose = withoutCode(markdown);
  return [...prose.matchAll(INLINE), ...prose.matchAll(REFERENCE)].flatMap(({ groups, index }) => {
    const target = groups?.target ?? '';
    return ELSEWHERE.test(target) ? [] : [{ target, line: prose.slice(0, index).split('\n').length }];
  });
}

/** The anchors that GitHub gives to the headings of a Markdown text. */
export function anchors(markdown: string): string[] {
  const seen = new Map<string, number>();
  return [...withoutCode(markdown).matchAll(/^#{1,6}[ \t]+(?<heading>\S.*)$/gm)].map(({ groups }) => {
    const heading = (groups?.heading ?? '')
      .trimEnd()
      .replace(/(?<=[ \t])#+$/, '')
      .trimEnd();
    const slug = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-');
    const before = seen.get(slug) ?? 0;
    seen.set(slug, before + 1);
    return before === 0 ? slug : `${slug}-${before}`;
  });
}

/** Code blocks become as many empty lines. */
function withoutCode(markdown: string): string {
  return markdown.replace(FENCED, (block) => block.replace(/[^\n]/g, ''));
}
