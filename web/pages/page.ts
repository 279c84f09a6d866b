/** A page as a value: router, menu, palette and the test over all pages are drawn from the list of them. */
import type { ComponentType } from 'react';
import type { OperationName } from '../../api/client.ts';
import type { Right } from '../../domain/accounts/rights.ts';
import type { IconName } from '../parts/icon.tsx';

export const MENU = ['', 'Data in', 'People', 'Apps', 'Messages', 'Data out', 'Privacy', 'Admin'] as const;

export type Page = {
  /** Path below `/console`, with parameters as `$name`. */
  path: string;
  title: string;
  /** The question that the page answers. */
  question: string;
  /** Operations without which it shows nothing: their rights are the page's. */
  needs: readonly OperationName[];
  /** Rights; one of them is enough to be shown something. */
  anyOf?: readonly Right[];
  /** Its place in the menu. */
  menu?: { group: (typeof MENU)[number]; icon: IconName };
  /** Second key after `g`. */
  key?: string;
  /** Ids that begin so lead to this page. */
  idPrefix?: string;
  load: () => Promise<ComponentType>;
};

export function page(value: Page): Page {
  return value;
}
