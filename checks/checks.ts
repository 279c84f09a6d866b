import type { Check } from './check.ts';
import { dependencyCruiser } from './dependency-cruiser.ts';
import { folders } from './folders.ts';
import { knip } from './knip.ts';
import { links } from './links.ts';
import { oxfmt } from './oxfmt.ts';
import { oxlint } from './oxlint.ts';
import { regexps } from './regexps.ts';
import { text } from './text.ts';
import { typescript } from './typescript.ts';

/** In the order in which they run. */
export const CHECKS: Check[] = [typescript, oxfmt, oxlint, dependencyCruiser, folders, knip, text, links, regexps];
