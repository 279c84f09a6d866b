/** The wallet as an app would list it to its users, in one language. */
import { useState } from 'react';
import type { TextByLanguage } from '../../../api/client.ts';
import { Empty, Panel } from '../../parts/panel.tsx';
import { Toggles } from '../../parts/toggles.tsx';
import type { WalletData } from './wallet-rows.ts';

export function Preview({ data }: { data: WalletData }) {
  const [first] = data.languages;
  const [chosen, setChosen] = useState<string | null>(null);
  const language = data.languages.find(({ identifier }) => identifier === chosen)?.identifier ?? first?.identifier;
  return (
    <Panel title="As the app would list it">
      {language === undefined ? (
        <Empty says="Choose a language first." />
      ) : (
        <div className="body">
          <Toggles
            label="Language"
            choices={data.languages.map(({ identifier, label }) => ({ value: identifier, title: label }))}
            value={language}
            onChange={setChosen}
          />
          <div className="wallet" lang={language}>
            <Listed data={data} language={language} />
          </div>
        </div>
      )}
    </Panel>
  );
}

function Listed({
  data: { legal, purposes, recipients, categories },
  language,
}: {
  data: WalletData;
  language: string;
}) {
  const nameOf = new Map(recipients.map(({ technical_name: name, display_name: shown }) => [name, shown]));
  const categoryOf = new Map(categories.map(({ technical_name: name, title }) => [name, title]));
  return (
    <>
      {legal.map(({ identifier, title, text }) => (
        <section key={identifier}>
          <h3>
            <Said text={title} language={language} />
          </h3>
          <p className="pre">
            <Said text={text} language={language} />
          </p>
        </section>
      ))}
      {purposes.map(({ identifier, title, description, data_elements: elements }) => (
        <section key={identifier}>
          <h3>
            <Said text={title} language={language} />
          </h3>
          <p>
            <Said text={description} language={language} />
          </p>
          <ul>
            {elements.map((each) => (
              <li key={`${each.recipient.technical_name}/${each.technical_name}`}>
                {each.display_name} (
                <Said text={categoryOf.get(each.data_category.technical_name) ?? {}} language={language} />
                ), {nameOf.get(each.recipient.technical_name)}
              </li>
            ))}
          </ul>
        </section>
      ))}
      {legal.length + purposes.length === 0 && <p className="second">Nothing: no legal text and no purpose.</p>}
    </>
  );
}

function Said({ text, language }: { text: TextByLanguage; language: string }) {
  return text[language] ? <>{text[language]}</> : <span className="wrong">not translated</span>;
}
