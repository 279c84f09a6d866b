/** Signed receipts of privacy requests, and the download of a person's archive. */
import { z } from 'zod';
import { receiptSchema } from '../../domain/gdpr/gdpr-receipt.ts';
import { identifier } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';
import { ofOne } from './gdpr.ts';

export const GdprReceipt = receiptSchema.meta({ id: 'GdprReceipt' });

const SHARED = { tag: 'GDPR', right: 'gdpr_data_manage', method: 'GET' } as const;
const PATH = '/api/gdpr/receipts';

export const listGdprReceipts = operation({
  id: 'listGdprReceipts',
  ...SHARED,
  path: '/api/gdpr/requests/:request_id/receipt',
  summary: 'Get the signed receipts of a request',
  description:
    'One receipt per round: Millrace treats people on hold in a later round. Receipts stay after Millrace discards the ' +
    'request. `millrace verify` checks their signatures.',
  audits: 'read gdpr_receipt',
  params: z.object({ request_id: identifier }),
  result: z.object({ receipts: z.array(GdprReceipt) }),
});

export const listReceiptsOfPerson = operation({
  id: 'listReceiptsOfPerson',
  ...SHARED,
  path: PATH,
  summary: 'List the signed receipts of a person, newest first',
  description: 'Accepts any id of the person. Receipts hold keyed hashes instead of ids.',
  audits: 'read gdpr_receipt',
  query: z.object({ ...pageQuery, ...ofOne, user_id: ofOne.user_id.describe('Required unless device_id is given') }),
  result: pageOf(GdprReceipt),
});

export const downloadArchive = operation({
  id: 'downloadArchive',
  method: 'GET',
  path: '/api/gdpr/downloads/:request_id/:ordinal/:signature',
  summary: 'Download the archive of a person',
  description:
    'The links in download_urls and in mails lead here. They need no token, and work until Millrace discards the request ' +
    'or deletes the person. Status 202 if that happens at this moment.',
  audits: 'read gdpr_request',
  tag: 'GDPR',
  auth: 'none',
  params: z.object({ request_id: identifier, ordinal: identifier, signature: identifier }),
  contentType: 'application/zip',
});
