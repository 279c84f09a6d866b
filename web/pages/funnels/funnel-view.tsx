/** A funnel counted: its balance, its steps, the time between them, and what is asked about the people of a step. */
import { useState } from 'react';
import type { FunnelStats } from '../../../api/client.ts';
import { Balance } from '../../parts/balance.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { Chip } from '../../parts/head.tsx';
import { Empty, Panel, Skeleton } from '../../parts/panel.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { Steps } from '../../parts/steps.tsx';
import { countText, durationText, percentText, When } from '../../parts/values.tsx';
import { BreakdownPanel } from './breakdown.tsx';
import { CountControls } from './count-controls.tsx';
import { LessWork } from './less-work.tsx';
import { FollowUps, PeopleOfStep } from './people-of-step.tsx';
import { StepSegment } from './step-segment.tsx';
import { Times } from './times.tsx';
import { type Counts, useAsked, useCounts } from './use-counts.ts';
import { type AskedStep, type CountedFunnel, peopleText, secondsText, stepName, wholeDurationText } from './words.ts';

type Question = { kind: 'instead' | 'people' | 'segment'; of: AskedStep };

export function FunnelView({
  funnel,
  stored,
}: {
  funnel: CountedFunnel;
  /** The stored funnel, if it is one, and its own `max_duration`: a segment of its people needs both. */
  stored?: { identifier: string; within: number };
}) {
  const [asked, breakdown, kind] = useAsked(funnel.steps[0]!.match_name[0]!.app_id);
  const counts = useCounts(funnel, asked, kind);
  const [question, setQuestion] = useState<Question | null>(null);
  const about = { funnel, asked };
  const key = JSON.stringify([asked, funnel.max_duration, question]);
  const stats = counts.shown?.stats;
  const within = stored && { asked: funnel.max_duration, stored: stored.within };
  const funnelId = within?.asked === within?.stored ? stored?.identifier : undefined;
  return (
    <>
      <CountControls asked={asked} breakdown={breakdown} kind={kind} within={within} />
      {counts.refusal && (
        <Refused refusal={counts.refusal} retry={counts.retry}>
          <LessWork refusal={counts.refusal} asked={asked} isExact={counts.isExactRefused} />
        </Refused>
      )}
      {within && funnelId === undefined && (
        <p className="note info">
          Counted within {wholeDurationText(within.asked)}; the stored funnel has {wholeDurationText(within.stored)}.
          For a segment of these people edit it as a copy.
        </p>
      )}
      {!stats && !counts.refusal && (
        <Panel title="Counting">
          <Skeleton rows={4} />
        </Panel>
      )}
      {stats && (
        <>
          <CountFacts counts={counts} />
          <FunnelBalance stats={stats} />
          <div className="cols">
            <div className="stack">
              <StepsPanel funnel={funnel} stats={stats} ask={setQuestion} isStored={funnelId !== undefined} />
              {breakdown !== undefined && (
                <BreakdownPanel {...about} breakdown={breakdown} isExact={counts.isExact} all={stats} />
              )}
            </div>
            <aside className="stack">
              <Times stats={stats} />
              {question?.kind === 'instead' && <FollowUps key={key} {...about} of={question.of} />}
              {question?.kind === 'people' && <PeopleOfStep key={key} {...about} of={question.of} />}
            </aside>
          </div>
          {question?.kind === 'segment' && funnelId !== undefined && (
            <StepSegment {...about} funnelId={funnelId} of={question.of} onClose={() => setQuestion(null)} />
          )}
        </>
      )}
    </>
  );
}

function CountFacts({ counts: { shown, isExact, fast, isCounting } }: { counts: Counts }) {
  const last = (answer: Counts['fast']) => answer && peopleText(answer.stats.at(-1)!);
  return (
    <div className="facts">
      {isExact ? <Chip tone="ok">Exact</Chip> : <Chip tone="info">Fast: estimated from a sample of people</Chip>}
      <span>
        {last(shown)} in <b className="n">{durationText(shown!.tookMs)}</b>
      </span>
      {isExact && fast && (
        <span>
          the fast answer was <b className="n">{last(fast)}</b> in <b className="n">{durationText(fast.tookMs)}</b>
        </span>
      )}
      <span>
        counted at <When at={shown!.at} />
      </span>
      {isCounting && (
        <span role="status">
          {isExact ? 'Counting' : 'Counting exactly: these numbers stay until all of them are there'}
        </span>
      )}
    </div>
  );
}

function FunnelBalance({ stats }: { stats: readonly FunnelStats[] }) {
  const began = stats[0]!;
  const finished = stats.at(-1)!;
  const stopped = stats.slice(0, -1).map(({ completions }, nth) => completions - stats[nth + 1]!.completions);
  return (
    <Balance
      total={began.completions}
      what={stats.length === 1 ? 'people' : 'people began'}
      parts={[
        {
          label: `finished, ${percentText(finished.completions, began.completions)}`,
          count: finished.completions,
          tone: 'accent',
        },
        ...stopped.map((count, nth) => ({ label: `stopped after ${nth + 1}`, count, tone: 'neutral' as const })),
      ]}
      {...(began.exact
        ? {}
        : {
            note: `Estimated: the ${countText(began.completions)} who began may be off by ${countText(began.completions_error)}.`,
          })}
    />
  );
}

function StepsPanel({
  funnel,
  stats,
  ask,
  isStored,
}: {
  funnel: CountedFunnel;
  stats: readonly FunnelStats[];
  ask: (question: Question) => void;
  isStored: boolean;
}) {
  if (stats[0]!.completions === 0)
    return (
      <Panel title="Steps">
        <Empty says={`No person had “${stepName(funnel.steps[0]!)}” in these days. Choose other days.`} />
      </Panel>
    );
  const steps = stats.map(({ completions, completions_error: error, since_previous: times }, nth) => ({
    name: stepName(funnel.steps[nth]!),
    people: completions,
    error,
    median: times?.median ?? null,
  }));
  const link = (
    question: Question,
    words: string,
    operation: 'exploreFunnel' | 'listFunnelPeople' | 'createSegment',
  ) => (
    <ActionButton operation={operation} kind="plain" onPress={() => ask(question)}>
      {words}
      <span className="sr">
        {' '}
        {question.of.outcome === 'dropped' ? `after step ${question.of.step}` : `of step ${question.of.step + 1}`}
      </span>
    </ActionButton>
  );
  return (
    <Panel
      title="Steps"
      footer="A person counts once per step. Of several starts the latest that reaches a step counts."
    >
      <Steps
        steps={steps}
        stepActions={(step) =>
          link({ kind: 'people', of: { step, outcome: 'completed' } }, 'People', 'listFunnelPeople')
        }
        dropActions={(step) => {
          const of: AskedStep = { step: step + 1, outcome: 'dropped' };
          return (
            <>
              {link({ kind: 'instead', of }, 'What they did instead', 'exploreFunnel')}
              {link({ kind: 'people', of }, 'People', 'listFunnelPeople')}
              {isStored && link({ kind: 'segment', of }, 'Make a segment of them', 'createSegment')}
            </>
          );
        }}
      />
      <details className="body">
        <summary className="small">As a table</summary>
        <StepTable steps={steps} stats={stats} />
      </details>
    </Panel>
  );
}

function StepTable({ steps, stats }: { steps: readonly { name: string }[]; stats: readonly FunnelStats[] }) {
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Steps as a table">
      <table>
        <thead>
          <tr>
            {['Step', 'People', 'Of the first', 'Of the one before', 'Median', 'Nine in ten'].map((title, nth) => (
              <th key={title} scope="col" className={nth === 0 ? undefined : 'num'}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {stats.map((step, nth) => (
            <tr key={nth}>
              <td>
                {nth + 1}. {steps[nth]!.name}
              </td>
              <td className="num">{peopleText(step)}</td>
              <td className="num">{percentText(step.completions, stats[0]!.completions)}</td>
              <td className="num">{nth === 0 ? '–' : percentText(step.completions, stats[nth - 1]!.completions)}</td>
              <td className="num">{step.since_previous ? secondsText(step.since_previous.median) : '–'}</td>
              <td className="num">{step.since_previous ? secondsText(step.since_previous.nine_in_ten) : '–'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
