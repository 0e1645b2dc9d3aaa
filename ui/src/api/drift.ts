/**
 * What the pages rely on (`calls.ts`), held against what the API says it answers (`schema.ts`). Only types: nothing of
 * it reaches the browser. A line that does not compile names the answer that has changed.
 */
import type * as relied from "./calls";
import type { Problem } from "./problem";
import type * as said from "./schema";

type Fits<Said extends Relied, Relied> = Said;

export type Answers = [
  Fits<said.Problem, Problem>,
  Fits<said.Run, relied.Run>,
  Fits<said.Runs, relied.Page<relied.Run>>,
  Fits<said.Event, relied.RunEvent>,
  // Requests may leave parts of the policies out, answers never do.
  Fits<Omit<said.Schedule, "retry_policy" | "catchup">, Omit<relied.Schedule, "retry_policy" | "catchup">>,
  Fits<Required<said.RetryPolicy>, relied.RetryPolicy>,
  Fits<Required<said.Catchup>, relied.Catchup>,
  Fits<said.Instant, relied.Instant>,
  Fits<said.Preview, relied.Preview>,
  Fits<said.Count, relied.RunCount>,
  Fits<said.Series, relied.Series>,
  Fits<said.Suggestion, relied.Suggestion>,
  Fits<said.Log, relied.LogPage>,
  Fits<said.AttentionList, relied.Attention>,
  Fits<said.TimelineModel, relied.Timeline>,
  Fits<said.CalendarModel, relied.Calendar>,
  Fits<said.ScheduleHealth, relied.ScheduleHealth>,
  Fits<said.Bulk, relied.Bulk>,
  Fits<said.Trial, relied.BulkDryRun>,
  Fits<said.LetterGroups, relied.DeadLetterGroups>,
  Fits<said.QueueModel, relied.Queue>,
  Fits<said.WorkerModel, relied.Worker>,
  Fits<said.Session, relied.Session>,
  Fits<said.TrailEntry, relied.TrailEntry>,
  Fits<said.Member, relied.Member>,
];

export type Requests = [Fits<relied.BulkRequest, said.BulkRequest>];
