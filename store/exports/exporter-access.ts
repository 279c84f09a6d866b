import type { ExporterSecrets, NewExporter } from './data-exporter-record.ts';

/** How the bucket of an exporter is reached, as connectors take it. */
export function exporterAccess(
  { type, bucketName, region, endpoint, accountId, roleName }: Pick<NewExporter, 'type' | 'bucketName' | 'region' | 'endpoint'
    | 'accountId' | 'roleName'>,
  { accessKeyId, secretAccessKey }: ExporterSecrets, externalId: string,
) {
  const credentials = type === 'aws_account_id'
    ? { accountId: accountId!, roleName: roleName!, externalId }
    : { accessKeyId: accessKeyId!, secretAccessKey: secretAccessKey! };
  return { bucket: bucketName, region, endpoint, credentials };
}
