import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

/** What the reference says that a caller sees, and the tests that show it; or why none does. */
type Sentence = { says: string; shown: string[] };
/** A section of the reference: its heading, the methods and paths that it describes, its sentences in its order. */
type Section = { file: string; heading: string; paths: string[]; sentences: Sentence[] };

/**
 * `# Heading`, `## METHOD /path, METHOD /path`, `- Sentence.`, and below it, as often as needed, ` - path/of.test.ts:
 * group › test`, or
 * `  - none: why`.
 */
function sectionOf(file: string): Section {
  const section: Section = { file, heading: '', paths: [], sentences: [] };
  for (const line of readFileSync(join(ROOT, file), 'utf8').split('\n')) {
    if (line.startsWith('# ')) section.heading = line.slice(2);
    else if (/^## [A-Z]+ \//.test(line)) section.paths.push(...line.slice(3).split(', '));
    else if (line.startsWith('- ')) section.sentences.push({ says: line.slice(2), shown: [] });
    else if (line.startsWith('  - ')) section.sentences.at(-1)!.shown.push(line.slice(4));
  }
  return section;
}

/** The reference, section by section, as the files beside this one have it. */
export const sections = globSync('test/reference/**/*.md', { cwd: ROOT }).toSorted().map(sectionOf);
