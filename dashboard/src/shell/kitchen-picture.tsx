/** The kitchen of the tour: a prep cook, a pass where orders are called, and master chefs. */

const CHEFS = [0, 1, 2, 3];

export function KitchenPicture({ step }: { step: number }) {
  return (
    <svg
      viewBox="0 0 520 190"
      className="w-full rounded-xl bg-raised"
      role="img"
      aria-label="A kitchen: one prep cook on the left, the pass in the middle, four master chefs on the right"
    >
      <rect x={0} y={156} width={520} height={34} fill="var(--track)" />
      <Cook x={74} colour="var(--cpu)" tall={false} />
      <text x={74} y={178} textAnchor="middle" fontSize={13} fill="var(--ink)">
        prep cook · CPU
      </text>
      {CHEFS.map((chef) => (
        <Cook key={chef} x={320 + chef * 52} colour="var(--gpu)" tall />
      ))}
      <text x={398} y={178} textAnchor="middle" fontSize={13} fill="var(--ink)">
        master chefs · GPUs
      </text>
      {step === 0 && (
        <g>
          <path
            d="M 120 96 C 170 60, 235 60, 284 96"
            fill="none"
            stroke="var(--ink-dim)"
            strokeWidth={2}
            strokeDasharray="5 5"
          />
          <path d="M 276 84 L 286 98 L 270 98 Z" fill="var(--ink-dim)" />
          <text x={202} y={52} textAnchor="middle" fontSize={13} fill="var(--ink-dim)">
            carrying takes time
          </text>
          <circle cx={202} cy={84} r={11} fill="var(--bad)" fillOpacity={0.8} />
          <path d="M 202 74 q 3 -7 9 -7" fill="none" stroke="var(--good)" strokeWidth={3} />
        </g>
      )}
      {step >= 1 && (
        <g>
          <Cook x={202} colour="var(--accent)" tall />
          <text x={202} y={178} textAnchor="middle" fontSize={13} fill="var(--ink)">
            the pass · scheduler
          </text>
          <path d="M 176 88 H 118" stroke="var(--cpu)" strokeWidth={3} />
          <path d="M 122 81 L 112 88 L 122 95 Z" fill="var(--cpu)" />
          <path d="M 228 88 H 284" stroke="var(--gpu)" strokeWidth={3} />
          <path d="M 280 81 L 290 88 L 280 95 Z" fill="var(--gpu)" />
        </g>
      )}
      {step === 2 &&
        CHEFS.map((order) => (
          <rect
            key={order}
            x={170 + order * 17}
            y={22 - order * 2}
            width={14}
            height={20}
            rx={2}
            fill="var(--ink)"
            fillOpacity={0.85 - order * 0.15}
          />
        ))}
    </svg>
  );
}

function Cook({ x, colour, tall }: { x: number; colour: string; tall: boolean }) {
  const hat = tall ? 30 : 14;
  return (
    <g>
      <rect x={x - 11} y={82 - hat} width={22} height={hat} rx={4} fill="var(--ink)" fillOpacity={0.9} />
      <circle cx={x} cy={92} r={13} fill={colour} />
      <path
        d={`M ${x - 20} 156 V 124 Q ${x - 20} 108 ${x} 108 Q ${x + 20} 108 ${x + 20} 124 V 156 Z`}
        fill={colour}
        fillOpacity={0.75}
      />
    </g>
  );
}
