/** Defines the operations of a file export, one for each format of the file (reference: Data exports). */
import { z } from 'zod';
import type { Audited } from '../../domain/accounts/audit.ts';
import type { Right } from '../../domain/accounts/rights.ts';
import { FILE_DAYS, FILE_FORMATS } from '../../domain/files/file-format.ts';
import { queryFlag } from '../core/input.ts';
import { type Malformed, type Nothing, type Operation, operation } from '../core/operation.ts';

/** The answer to a file export (reference: Data exports, 2). */
export const FileAnswer = z
  .union([z.string(), z.object({ callback: z.string() })])
  .describe('By mail: a sentence with the address. With `skip_email`: where the file can be fetched')
  .meta({ id: 'FileAnswer' });

const skipEmail = {
  skip_email: queryFlag.optional().describe('True: return the address of the file instead of mailing it'),
};
const format = z.enum(FILE_FORMATS, { error: `must be ${FILE_FORMATS.join(', ')}` });

type Described<P extends z.ZodObject, Q extends z.ZodObject> = {
  id: string;
  path: string;
  tag: string;
  summary: string;
  right?: Right;
  audits: Audited | readonly Audited[];
  params?: P;
  query: Q;
  malformedQuery?: Malformed;
};

type WithSkip<Q extends z.ZodObject> = z.ZodObject<Q['shape'] & typeof skipEmail>;
type WithFormat<P extends z.ZodObject> = z.ZodObject<P['shape'] & { format: typeof format }>;

/** The forms of a file export: XLS by its path, and `<path>.csv`, `.xls`, `.xlsx` (reference: Data exports, 1). */
export type FileExport<P extends z.ZodObject = z.ZodObject, Q extends z.ZodObject = z.ZodObject> = [
  plain: Operation<P, WithSkip<Q>, Nothing, typeof FileAnswer, 'token'>,
  formatted: Operation<WithFormat<P>, WithSkip<Q>, Nothing, typeof FileAnswer, 'token'>,
];

export function fileExport<Q extends z.ZodObject, P extends z.ZodObject = Nothing>({
  id,
  path,
  summary,
  params,
  query,
  ...described
}: Described<P, Q>): FileExport<P, Q> {
  const description = `The link works for ${FILE_DAYS} days. The same export under way is not begun again.`;
  const shared = {
    ...described,
    method: 'GET',
    description,
    result: FileAnswer,
    query: query.extend(skipEmail) as unknown as WithSkip<Q>,
  } as const;
  const own = params ?? (z.object({}) as P);
  return [
    operation({ ...shared, id, path, summary: `${summary}, as an XLS file`, params: own }),
    operation({
      ...shared,
      id: `${id}As`,
      path: `${path}.:format`,
      summary: `${summary}, as a CSV, XLS or XLSX file`,
      params: own.extend({ format }) as unknown as WithFormat<P>,
    }),
  ];
}

export const downloadFile = operation({
  id: 'downloadFile',
  tag: 'File exports',
  method: 'GET',
  path: '/api/files/:file_identifier',
  auth: 'none',
  summary: 'Fetch a file by its link',
  description:
    'Status 200 with the file, 202 while Millrace builds it, 400 if the link is wrong or has expired, or if the file failed.',
  audits: 'read file',
  contentType: 'application/octet-stream',
  params: z.object({ file_identifier: z.string().max(64) }),
  query: z.object({ token: z.string().optional() }),
});
