import { Context } from '@temporalio/activity';
import { canonicalFile } from '../../connectors/files/canonical-file.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import type { FileFailure } from '../../domain/imports/import-file.ts';
import { refuseBeyond } from '../../domain/imports/kept-files.ts';
import { isDamage } from '../../domain/imports/source-defect.ts';
import { deleteNotedFiles } from '../../store/core/file-deletions.ts';
import type { ImportFileFormat, PinnedImport, ReadableImport } from '../../store/imports/import-record.ts';
import { updateImportConverted } from '../../store/imports/imports.ts';
import { sumKeptFiles } from '../../store/imports/kept-files.ts';
import { FILE_LIMITS, storeFile } from '../../store/imports/pin-file.ts';
import type { Dependencies } from '../dependencies.ts';
import { noteKeptFile } from './note-kept-file.ts';

/**
 * The import with its file as CSV in UTF-8. A file in another form is converted once: the result is pinned in place of
 * the file as it came, whose size and checksum stay; a step that is killed before begins again. `moved`: another
 * attempt has done it.
 */
export async function readableImport(
  deps: Dependencies,
  job: PinnedImport,
): Promise<ReadableImport | FileFailure | 'moved'> {
  const { files } = deps;
  if ((await files.size(job.file.fileKey)) !== job.file.fileBytes) {
    return {
      errorType: 'FILE_TRANSFER_ERROR',
      message: 'the stored copy of the file is gone or damaged: import it again',
    };
  }
  if (isDamage(job.file.sourceDefect)) {
    return {
      errorType: 'FILE_TRANSFER_ERROR',
      message: `${job.file.sourceDefect!}, so no row of it was read: send it again`,
    };
  }
  if (job.fileFormat !== null) return { ...job, fileFormat: job.fileFormat };
  const pinned = files.read(job.file.fileKey);
  try {
    const signal = AbortSignal.any([deps.draining, Context.current().cancellationSignal]);
    const {
      format: table,
      isConverted,
      chunks,
    } = await canonicalFile(pinned, job.fileSettings, {
      scratch: deps.scratch.folderOf(job.entityId),
      signal,
      maxBytes: FILE_LIMITS.decompressedBytes,
    });
    const fileFormat = {
      ...table,
      decimal: table.format === 'xlsx' ? ('.' as const) : (job.fileSettings.decimal ?? '.'),
    };
    return isConverted ? await storeConverted(deps, job, chunks, fileFormat) : { ...job, fileFormat };
  } catch (error) {
    if (error instanceof Refusal) return failureOf(error);
    throw error;
  } finally {
    pinned.destroy();
  }
}

async function storeConverted(
  deps: Dependencies,
  job: PinnedImport,
  chunks: AsyncIterable<Buffer>,
  fileFormat: ImportFileFormat,
): Promise<ReadableImport | 'moved'> {
  const { db, files, boundary } = deps;
  const kept = await sumKeptFiles(db, job.entityId, job.sorId);
  // It comes in place of the file as it came, which is counted.
  let more = -job.file.fileBytes;
  const onStore = (bytes: number) => {
    more += bytes;
    if (more > 0) refuseBeyond(kept, deps.keptLimits, more, new Date());
  };
  const converted = await storeFile(files, chunks, { onStore });
  boundary('import: file converted');
  const { fileKey } = converted;
  const isTaken = await noteKeptFile(deps, job, { fileKey, more }, (tx) =>
    updateImportConverted(tx, job, converted, fileFormat),
  );
  boundary('import: conversion noted');
  if (isTaken) await deleteNotedFiles(deps, job.entityId, job.file.fileKey);
  else await files.delete(fileKey);
  return isTaken ? { ...job, file: { ...job.file, ...converted }, fileFormat } : 'moved';
}

function failureOf({ status, message }: Refusal): FileFailure {
  const isTransfer = status === 'too_large' || status === 'transfer_broken' || status === 'too_many_requests';
  return { errorType: isTransfer ? 'FILE_TRANSFER_ERROR' : 'PARSING_FAILED', message };
}
