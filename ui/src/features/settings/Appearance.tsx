import type { ReactNode } from "react";

import { Card } from "@/parts/Card";
import { Segments } from "@/parts/Segments";
import { ZonePicker } from "@/parts/zone/ZonePicker";
import { type Prefs, setPrefs, usePrefs, useZone } from "@/prefs";

const THEMES: readonly (readonly [Prefs["theme"], string])[] = [
  ["system", "System"],
  ["light", "Light"],
  ["dark", "Dark"],
];
const DENSITIES: readonly (readonly [Prefs["density"], string])[] = [
  ["comfortable", "Comfortable"],
  ["default", "Default"],
  ["compact", "Compact"],
];

/** Theme, density and zone, stored in this browser only. */
export function Appearance() {
  const { theme, density } = usePrefs();
  const zone = useZone();
  return (
    <Card title="Appearance (this browser)">
      <dl className="grid items-center gap-x-6 gap-y-4 text-sm sm:grid-cols-[max-content_1fr] max-sm:gap-y-2">
        <Row name="Times are shown in">
          <span className="flex items-center gap-2">
            <span className="font-mono">{zone}</span> <ZonePicker />
          </span>
        </Row>
        <Row name="Theme">
          <Segments label="Theme" value={theme} choices={THEMES} onChange={(to) => setPrefs({ theme: to })} />
        </Row>
        <Row name="Rows">
          <Segments
            label="Row height"
            value={density}
            choices={DENSITIES}
            onChange={(to) => setPrefs({ density: to })}
          />
        </Row>
      </dl>
    </Card>
  );
}

function Row({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-muted">{name}</dt>
      <dd className="flex">{children}</dd>
    </>
  );
}
