/** One scheduler's decision: what every device would have cost, what was chosen, why, and the regret. */

import { decisionWait } from "../analysis/order";
import type { Considered, DecisionReport, Result } from "../api/types";
import {
  deviceLabel,
  formatDollars,
  formatJoules,
  formatMoment,
  formatPercent,
  formatSeconds,
  formatTimes,
  headline,
  NOTHING,
  placementLabel,
} from "../format";
import { useMetricInfo } from "../live/metric-catalogue";
import { ScrollRegion } from "../ui/scroll-region";

/** What the service calls a figure. */
function useCalled(): (metric: string) => string {
  const infoOf = useMetricInfo();
  return (metric) => headline(infoOf(metric)?.short ?? metric);
}

export function Decision({ report, result }: { report: DecisionReport; result?: Result }) {
  const outcome = result ?? report.projected;
  const called = useCalled();
  const longest = Math.max(...report.considered.map((option) => option.response ?? 0), 1e-12);
  return (
    <div data-testid="decision" data-scheduler={report.scheduler_name}>
      <dl className="mb-4 grid grid-cols-2 gap-2 sm:grid-cols-4" data-testid="decision-facts">
        {report.waiting && result === undefined ? (
          <Fact
            label="Waiting, expected to start at"
            value={formatSeconds(report.expected_start)}
            exact={report.expected_start}
          />
        ) : (
          <Fact label="Chosen" value={placementLabel(report)} />
        )}
        <Fact
          label={result ? called("avg_response") : `Projected ${called("avg_response").toLowerCase()}`}
          value={formatSeconds(outcome?.response_time)}
          exact={outcome?.response_time}
        />
        <Fact label="Of it waiting" value={formatSeconds(outcome?.wait_time)} exact={outcome?.wait_time} />
        <Fact label="Decided at" value={formatMoment(outcome?.decided_time)} exact={outcome?.decided_time} />
        <Fact
          label="Waited for the decision"
          value={formatSeconds(decisionWait(outcome))}
          exact={decisionWait(outcome)}
        />
        <Fact label="Overtaken" value={formatTimes(outcome?.overtaken)} exact={outcome?.overtaken} />
        <Fact
          label="Regret"
          value={formatSeconds(report.regret)}
          exact={report.regret}
          warn={(report.regret ?? 0) > 0}
        />
      </dl>
      <p className="mb-4 rounded-lg bg-raised px-3 py-2">
        <b>Why: </b>
        {report.reason || "The scheduler gives no reason."}
        {Object.keys(report.predicted).length > 0 && (
          <span className="block text-[13px] text-dim">
            It expected{" "}
            {Object.entries(report.predicted)
              .map(([device, seconds]) => `${formatSeconds(seconds)} on ${deviceLabel(device)}`)
              .join(" and ")}
            .
          </span>
        )}
      </p>
      {report.considered.length === 0 ? (
        <p className="text-dim">What the other devices would have cost is not known.</p>
      ) : (
        <ScrollRegion label="What every device would have cost" className="overflow-x-auto">
          <table className="data-table min-w-[34rem]">
            <caption className="pb-1 text-left text-[13px] text-dim">
              What every device would have cost at that moment: waiting (pale) and execution (full)
            </caption>
            <thead>
              <tr>
                <th scope="col">Device</th>
                <th scope="col" className="w-2/5 min-w-32">
                  {called("avg_response")}
                </th>
                <th scope="col" className="number">
                  {called("avg_wait")}
                </th>
                <th scope="col" className="number">
                  {called("avg_time")}
                </th>
                <th scope="col" className="number">
                  {called("energy")}
                </th>
                <th scope="col" className="number">
                  {called("cost")}
                </th>
              </tr>
            </thead>
            <tbody>
              {report.considered.map((option) => (
                <Option key={`${option.device} ${option.gpu_fraction}`} option={option} longest={longest} />
              ))}
            </tbody>
          </table>
        </ScrollRegion>
      )}
    </div>
  );
}

function Option({ option, longest }: { option: Considered; longest: number }) {
  const width = (seconds: number | null) => `${((seconds ?? 0) / longest) * 100}%`;
  const colour = option.chosen ? "var(--accent)" : "var(--ink-dim)";
  return (
    <tr
      className={option.chosen ? "bg-raised" : ""}
      data-testid="considered"
      data-device={option.device}
      data-chosen={option.chosen}
    >
      <th scope="row" className="text-left whitespace-nowrap">
        {deviceLabel(option.device)}
        {option.gpu_fraction > 0 && option.gpu_fraction < 1 && (
          <span className="text-dim"> {formatPercent(option.gpu_fraction)} GPU</span>
        )}
        {option.chosen && <span className="tag ml-2 text-accent">chosen</span>}
      </th>
      <td>
        {option.response === null ? (
          <span className="text-dim">does not fit</span>
        ) : (
          <span className="flex items-center gap-2">
            <span className="flex h-2.5 grow overflow-hidden rounded-full bg-(--track)" aria-hidden>
              <span className="opacity-40" style={{ width: width(option.wait), background: colour }} />
              <span style={{ width: width(option.seconds), background: colour }} />
            </span>
            <span className="figure w-16 text-right">{formatSeconds(option.response)}</span>
          </span>
        )}
      </td>
      <td className="number">{formatSeconds(option.wait)}</td>
      <td className="number">{formatSeconds(option.seconds)}</td>
      <td className="number">{formatJoules(option.energy)}</td>
      <td className="number">{formatDollars(option.cost)}</td>
    </tr>
  );
}

interface FactProps {
  label: string;
  value: string;
  exact?: number | null;
  warn?: boolean;
}

export function Fact({ label, value, exact, warn = false }: FactProps) {
  return (
    <div className="rounded-lg border border-line px-3 py-1.5">
      <dt className="text-xs text-dim">{label}</dt>
      <dd className={`figure font-semibold ${warn ? "text-warn" : ""}`} data-value={exact ?? ""}>
        {value || NOTHING}
      </dd>
    </div>
  );
}
