import { describe, expect, test } from 'vitest';
import { anchors, linkTargets } from '../../checks/links.ts';

describe('the links of a page', () => {
  test('are those that stay in the project, each with its line', () => {
    const page = '[a](docs/a.md), ![b](b.png "B")\n[c](https://example.org) [d](mailto:a@b.c) [e](#top)\n\n[f]: f.md\n';
    expect(linkTargets(page)).toEqual([
      { target: 'docs/a.md', line: 1 },
      { target: 'b.png', line: 1 },
      { target: '#top', line: 2 },
      { target: 'f.md', line: 4 },
    ]);
  });

  test('are not looked for in blocks of code', () => {
    expect(linkTargets('```sh\n[a](a.md)\n```\n~~~\n[b](b.md)\n~~~\n[c](c.md)')).toEqual([{ target: 'c.md', line: 7 }]);
  });
});

test('headings have the anchors that GitHub gives them', () => {
  const page = '# Running it, by hand\n```\n# a comment\n```\n## `npm start` & more\n## Twice\n## Twice ##\n';
  expect(anchors(page)).toEqual(['running-it-by-hand', 'npm-start--more', 'twice', 'twice-1']);
});
