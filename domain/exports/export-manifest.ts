/** The manifest of an export run: names the files that count, with checksums and a signature. */
import { z } from 'zod';
import { documentSignature } from '../core/document-signature.ts';
import { EXPORT_FORMATS } from './export-data-type.ts';

const count = z.int().nonnegative();
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const instant = z.iso.datetime();

const file = z.object({
  key: z.string().min(1),
  part: z.int().positive(),
  rows: count,
  /** Size of the file in the bucket. */
  bytes: count,
  sha256,
  /** Compressed, before encryption. */
  content_bytes: count,
  content_sha256: sha256,
});

const dataType = z.object({
  type: z.string(),
  /** True: the same window, exported again, gives the same rows. */
  repeatable: z.boolean(),
  columns: z.array(z.string()),
  rows: count,
  expected: count,
  /** Sets whose CSV text gives other elements back. Older manifests lack this count. */
  ambiguous_sets: count.optional(),
  files: z.array(file),
});

export const unsignedManifest = z.object({
  version: z.literal(1),
  exporter: z.string(),
  exporter_name: z.string(),
  entity: z.string(),
  run: z.string(),
  cause: z.string(),
  window: z.object({
    /** `received`: by when it came in; `happened`: by the time of the events. */
    kind: z.enum(['received', 'happened']),
    start: instant.nullable(),
    end: instant,
  }),
  generation: z.int().positive(),
  written_at: instant,
  format: z.enum(EXPORT_FORMATS),
  compression: z.enum(['gzip', 'none']),
  include_headers: z.boolean(),
  encryption: z.object({ type: z.string() }).nullable(),
  types: z.array(dataType),
  rows: count,
  bytes: count,
});

/** The manifest of one run, `manifest.json`. Unknown members are dropped. */
export const manifestSchema = unsignedManifest.extend({ signature: documentSignature });

export type UnsignedManifest = z.infer<typeof unsignedManifest>;
export type ExportManifest = z.infer<typeof manifestSchema>;
