import type { ExporterSecrets, NewExporter } from './data-exporter-record.ts';

export function exporterAccess(
  {
    type,
    bucketName,
    region,
    endpoint,
    accountId,
    roleName,
    serverSideEncryption,
    kmsKeyId,
    contentMd5,
  }: Pick<
    NewExporter,
    | 'type'
    | 'bucketName'
    | 'region'
    | 'endpoint'
    | 'accountId'
    | 'roleName'
    | 'serverSideEncryption'
    | 'kmsKeyId'
    | 'contentMd5'
  >,
  { accessKeyId, secretAccessKey }: ExporterSecrets,
  externalId: string,
) {
  const credentials =
    type === 'aws_account_id'
      ? { accountId: accountId!, roleName: roleName!, externalId }
      : { accessKeyId: accessKeyId!, secretAccessKey: secretAccessKey! };
  const encryption = serverSideEncryption && { algorithm: serverSideEncryption, kmsKeyId };
  return { bucket: bucketName, region, endpoint, credentials, encryption, contentMd5 };
}
