/** All pages, in the order of the menu. */
import { accountPages } from './accounts/index.ts';
import { appPages } from './apps/index.ts';
import { attributePages } from './attributes/index.ts';
import { homePages } from './core/index.ts';
import { explorerPages } from './explorer/index.ts';
import { exportPages } from './exports/index.ts';
import { feedPages } from './feed/index.ts';
import { funnelPages } from './funnels/index.ts';
import { privacyPages } from './gdpr/index.ts';
import { importPages } from './imports/index.ts';
import type { Page } from './page.ts';
import { peoplePages } from './people/index.ts';
import { segmentPages } from './segments/index.ts';
import { sendPages } from './sends/index.ts';
import { syncPages } from './syncs/index.ts';
import { campaignPages } from './campaigns/index.ts';

export const PAGES: readonly Page[] = [
  ...homePages,
  ...importPages,
  ...feedPages,
  ...syncPages,
  ...sendPages,
  ...attributePages,
  ...peoplePages,
  ...appPages,
  ...explorerPages,
  ...segmentPages,
  ...funnelPages,
  ...exportPages,
  ...campaignPages,
  ...privacyPages,
  ...accountPages,
];
