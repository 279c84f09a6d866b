/** The data wallet of an app, which tells its users about their data: texts by language, and what is missing. */
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { AsCommand } from '../../parts/as-command.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { Chip, Head } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { type Column, DataTable } from '../../parts/table.tsx';
import { countText } from '../../parts/values.tsx';
import { useAction, useRead } from '../../session/calls.ts';
import { ChangeRow, Languages, NewRow, Translate } from './wallet-dialogs.tsx';
import { Preview } from './wallet-preview.tsx';
import {
  bodyNameOf,
  isTranslated,
  KINDS,
  OPERATIONS,
  rowsOf,
  type WalletData,
  type WalletKind,
  type WalletRow,
} from './wallet-rows.ts';

export type AppParams = { app_identifier: string };
type Open = { row: WalletRow; language: string } | { row: WalletRow } | { kind: WalletKind } | 'languages' | null;

export function Wallet() {
  const { id = '' } = useParams({ strict: false });
  const params = { app_identifier: id };
  const languages = useRead('viewWalletLanguages', { params });
  const legal = useRead('listLegalTexts', { params });
  const categories = useRead('listDataCategories', { params });
  const recipients = useRead('listRecipients', { params });
  const purposes = useRead('listPurposes', { params });
  const all = [languages, legal, categories, recipients, purposes];
  const failed = all.find(({ error }) => error !== null) ?? languages;
  const data =
    languages.data && legal.data && categories.data && recipients.data && purposes.data
      ? {
          languages: languages.data.languages,
          legal: legal.data,
          categories: categories.data,
          recipients: recipients.data,
          purposes: purposes.data,
        }
      : undefined;
  const readAgain = () => Promise.all(all.map(({ refetch }) => refetch()));
  return (
    <>
      <Head
        title="Data wallet"
        within={{ title: 'App', to: `/apps/${id}`, name: id }}
        facts={<span>What this app tells its users about their data. It decides nothing about what is kept.</span>}
      />
      <Shown
        result={{ data, error: failed.error, dataUpdatedAt: failed.dataUpdatedAt, refetch: () => void readAgain() }}
      >
        {(known: WalletData) => <Known data={known} params={params} />}
      </Shown>
      <AsCommand
        operation="createLegalText"
        params={params}
        body={{ technical_name: 'privacy_notice', title: { en: 'Your data' }, text: { en: '…' } }}
        cli={[`millrace apps wallet view ${id} --json`, `millrace apps wallet set ${id} wallet.json`]}
        manual="data-wallet"
      />
    </>
  );
}

function Known({ data, params }: { data: WalletData; params: AppParams }) {
  const [open, setOpen] = useState<Open>(null);
  const close = (): void => setOpen(null);
  const rows = rowsOf(data);
  return (
    <>
      <Translations data={data} rows={Object.values(rows).flat()} onChange={() => setOpen('languages')} />
      {KINDS.map((kind) => (
        <Rows key={kind} kind={kind} rows={rows[kind]} data={data} params={params} onOpen={setOpen} />
      ))}
      <Preview data={data} />
      {open === 'languages' && <Languages data={data} params={params} onClose={close} />}
      {open !== null && open !== 'languages' && 'kind' in open && (
        <NewRow kind={open.kind} params={params} onClose={close} />
      )}
      {open !== null && open !== 'languages' && 'language' in open && (
        <Translate row={open.row} language={open.language} params={params} onClose={close} />
      )}
      {open !== null && open !== 'languages' && 'row' in open && !('language' in open) && (
        <ChangeRow row={open.row} data={data} params={params} onClose={close} />
      )}
    </>
  );
}

function Translations({
  data: { languages },
  rows,
  onChange,
}: {
  data: WalletData;
  rows: readonly WalletRow[];
  onChange: () => void;
}) {
  const texts = rows.filter(({ title, isFixed }) => title !== undefined && !isFixed);
  return (
    <Panel
      title="Languages"
      end={
        <ActionButton operation="updateWalletLanguages" onPress={onChange}>
          {languages.length === 0 ? 'Choose languages' : 'Change the languages'}
        </ActionButton>
      }
    >
      {languages.length === 0 ? (
        <Empty says="No language yet: choose those that the app speaks, then translate each text." />
      ) : (
        <dl className="pairs body">
          {languages.map(({ identifier, label }) => {
            const done = texts.filter((row) => isTranslated(row, identifier)).length;
            return (
              <div key={identifier}>
                <dt>
                  {label} ({identifier})
                </dt>
                <dd>
                  {countText(done)} of {countText(texts.length)} translated{' '}
                  {done < texts.length && <Chip tone="warn">{countText(texts.length - done)} missing</Chip>}
                </dd>
              </div>
            );
          })}
        </dl>
      )}
    </Panel>
  );
}

function Rows({
  kind,
  rows,
  data: { languages },
  params,
  onOpen,
}: {
  kind: WalletKind;
  rows: readonly WalletRow[];
  data: WalletData;
  params: AppParams;
  onOpen: (open: Open) => void;
}) {
  const { title, says, one, create } = OPERATIONS[kind];
  const columns: readonly Column<WalletRow>[] = [
    { title: 'Name', cell: (row) => <Named row={row} /> },
    ...(kind === 'recipients'
      ? [{ title: 'Name in all languages', cell: ({ displayName }: WalletRow) => displayName }]
      : languages.map(({ identifier, label }) => ({
          title: label,
          cell: (row: WalletRow) => (
            <Text row={row} language={identifier} onPress={() => onOpen({ row, language: identifier })} />
          ),
        }))),
    {
      title: 'Change',
      cell: (row) =>
        row.isFixed ? (
          <span className="quiet">by default, stays</span>
        ) : (
          <span className="filters">
            <ActionButton operation={OPERATIONS[kind].patch} onPress={() => onOpen({ row })}>
              Change
            </ActionButton>
            <Remove row={row} params={params} />
          </span>
        ),
    },
  ];
  return (
    <Panel
      title={`${title}: ${countText(rows.length)}`}
      end={
        <ActionButton operation={create} onPress={() => onOpen({ kind })}>
          <Icon name="plus" />
          New {one}
        </ActionButton>
      }
    >
      <div className="wallet-rows">
        <DataTable caption={title} columns={columns} rows={rows} keyOf={({ id }) => id} empty={<Empty says={says} />} />
      </div>
    </Panel>
  );
}

function Named({ row: { technicalName, elements } }: { row: WalletRow }) {
  return (
    <>
      <code>{technicalName}</code>
      {elements !== undefined && (
        <span className="small quiet"> {elements === 1 ? '1 element' : `${countText(elements)} elements`}</span>
      )}
    </>
  );
}

const MAX_SHOWN = 80;

/** Shows the title and the text in one language; a press changes them. */
function Text({ row, language, onPress }: { row: WalletRow; language: string; onPress: () => void }) {
  const { title = {}, body = {}, kind, isFixed, technicalName } = row;
  const [shown, text] = [title[language], body[language]];
  const said = (
    <span className="tight">
      {shown ? <b>{shown}</b> : <span className={isFixed ? 'quiet' : 'wrong'}>not translated</span>}
      {text ? (
        <span className="small second">{text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text}</span>
      ) : (
        shown && <span className="small quiet">no {bodyNameOf(kind)}</span>
      )}
    </span>
  );
  if (isFixed) return said;
  return (
    <button type="button" className="text-cell" onClick={onPress}>
      <span className="sr">{`Translate ${technicalName}, ${language}: `}</span>
      {said}
    </button>
  );
}

function Remove({ row: { kind, id, technicalName }, params }: { row: WalletRow; params: AppParams }) {
  const { one, param, lists, delete: operation } = OPERATIONS[kind];
  const remove = useAction(operation, { changes: lists });
  return (
    <ConfirmButton
      operation={operation}
      title={`Delete the ${one} ${technicalName}?`}
      says={
        kind === 'recipients'
          ? 'Its elements leave the purposes that name them. The app shows it to its users no more.'
          : 'Its texts go in all languages. The app shows it to its users no more.'
      }
      yes="Delete it"
      kind="plain"
      sent={remove}
      onYes={(options) => remove.mutate({ params: { ...params, [param]: id } }, options)}
    >
      Delete
    </ConfirmButton>
  );
}
