import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { ask, send } from "@/api/client";
import type { NamedCalendar } from "@/api/schema";
import { Button } from "@/parts/Button";
import { ErrorCard } from "@/parts/ErrorCard";
import { Field, INPUT } from "@/parts/form/Field";
import { useCommand } from "@/parts/useCommand";
import { useDebounced } from "@/parts/useDebounced";

import { datesOf, datesText } from "./dates";

/** Creates, changes or deletes a calendar, and shows the next days that it stands for. */
export function CalendarForm({ calendar, onClose }: { calendar: NamedCalendar | null; onClose: () => void }) {
  const [name, setName] = useState(calendar?.name ?? "");
  const [holidays, setHolidays] = useState(calendar?.holidays ?? "");
  const [subdivision, setSubdivision] = useState(calendar?.subdivision ?? "");
  const [dates, setDates] = useState(datesText(calendar?.dates ?? []));
  const [file, setFile] = useState<string | null>(null);
  const [act, busy] = useCommand();
  const countries = useQuery({
    queryKey: ["holiday-countries"],
    queryFn: ({ signal }) => ask("/api/calendars/countries", { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  // Lists leave out the text of the iCalendar file.
  const whole = useQuery({
    queryKey: ["calendar", calendar?.id],
    queryFn: ({ signal }) =>
      ask("/api/calendars/{calendar_id}", { params: { calendar_id: calendar?.id ?? "" }, signal }),
    enabled: calendar !== null,
    staleTime: 0,
  });
  const places = countries.data?.items ?? [];
  const subdivisions = places.find((one) => one.code === holidays)?.subdivisions ?? [];
  const ics = file ?? whole.data?.ics ?? null;
  const body = {
    name: name.trim() || "calendar",
    description: calendar?.description ?? "",
    holidays: holidays || null,
    subdivision: holidays && subdivision ? subdivision : null,
    dates: datesOf(dates),
    ics,
  };
  const asked = useDebounced(JSON.stringify(body), 300);
  const empty = !body.holidays && !body.dates.length && !ics;
  const preview = useQuery({
    queryKey: ["calendar-preview", asked],
    queryFn: ({ signal }) => send("POST", "/api/calendars/preview", { body: JSON.parse(asked), signal }),
    enabled: !empty,
    retry: false,
    placeholderData: (before) => before,
  });
  const save = async (): Promise<void> => {
    const done = calendar
      ? await act(
          "PUT",
          "/api/calendars/{calendar_id}",
          { params: { calendar_id: calendar.id }, body },
          `Saved ${body.name}`,
        )
      : await act("POST", "/api/calendars", { body }, `Created ${body.name}`);
    if (done) onClose();
  };
  const remove = async (): Promise<void> => {
    if (!calendar) return;
    const params = { calendar_id: calendar.id };
    const done = await act("DELETE", "/api/calendars/{calendar_id}", { params }, `Deleted ${calendar.name}`);
    if (done) onClose();
  };
  return (
    <form
      className="flex flex-col gap-4 text-sm"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <Field name="name" label="Name" hint={calendar?.schedules ? "Schedules use it: it keeps its name." : undefined}>
        {(wired) => (
          <input
            {...wired}
            required
            disabled={Boolean(calendar?.schedules)}
            placeholder="SE"
            value={name}
            onChange={(event) => setName(event.target.value)}
            className={INPUT}
          />
        )}
      </Field>
      <div className="grid grid-cols-2 gap-3">
        <Field name="holidays" label="Public holidays of">
          {(wired) => (
            <select
              {...wired}
              value={holidays}
              onChange={(event) => {
                setHolidays(event.target.value);
                setSubdivision("");
              }}
              className={INPUT}
            >
              <option value="">no country</option>
              {places.map((one) => (
                <option key={one.code} value={one.code}>
                  {countryName(one.code)}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field name="subdivision" label="State or region">
          {(wired) => (
            <select
              {...wired}
              value={subdivision}
              disabled={!subdivisions.length}
              onChange={(event) => setSubdivision(event.target.value)}
              className={INPUT}
            >
              <option value="">the whole country</option>
              {subdivisions.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          )}
        </Field>
      </div>
      <Field name="dates" label="Further days, one per line" hint="2027-06-24/2027-06-25 Midsummer break">
        {(wired) => (
          <textarea
            {...wired}
            rows={3}
            value={dates}
            spellCheck={false}
            onChange={(event) => setDates(event.target.value)}
            className={`${INPUT} h-auto py-1.5 font-mono`}
          />
        )}
      </Field>
      <Field name="ics" label="iCalendar file" hint={ics ? "Its events are part of the calendar." : undefined}>
        {(wired) => (
          <input
            {...wired}
            type="file"
            accept=".ics,text/calendar"
            onChange={(event) => void event.target.files?.[0]?.text().then(setFile)}
          />
        )}
      </Field>
      {preview.error && !empty ? <ErrorCard error={preview.error} what="This calendar cannot be saved" /> : null}
      {preview.data && !empty ? <Upcoming calendar={preview.data} /> : null}
      <div className="flex justify-end gap-2">
        {calendar ? (
          <Button acts kind="danger" busy={busy} onClick={() => void remove()}>
            Delete
          </Button>
        ) : null}
        <Button onClick={onClose}>Cancel</Button>
        <Button acts kind="primary" type="submit" busy={busy}>
          {calendar ? "Save" : "Create calendar"}
        </Button>
      </div>
    </form>
  );
}

const NAMES = new Intl.DisplayNames(["en"], { type: "region", fallback: "code" });

const countryName = (code: string): string => (code.length === 2 ? `${NAMES.of(code) ?? code} (${code})` : code);

function Upcoming({ calendar }: { calendar: NamedCalendar }) {
  return (
    <section aria-label="Next days">
      <p className="mb-1 text-xs font-medium text-muted">Next days</p>
      <ul className="max-h-40 overflow-y-auto rounded border px-3 py-1.5 text-xs">
        {calendar.upcoming.slice(0, 20).map((day) => (
          <li key={`${day.date} ${day.name} ${day.start_at}`} className="flex gap-3 py-0.5">
            <span className="font-mono">{day.date}</span>
            <span className="text-muted">{day.name}</span>
          </li>
        ))}
        {calendar.upcoming.length ? null : <li className="text-muted">No day lies ahead.</li>}
      </ul>
    </section>
  );
}
