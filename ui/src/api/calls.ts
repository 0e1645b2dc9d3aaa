/**
 * The words of the pages for what the API answers. Every shape is that of `schema.ts`, which `make reference` writes
 * from the API's description: an answer that changes breaks the build, not the page.
 */
import type * as schema from "./schema";

export interface Page<T> {
  items: T[];
  next_cursor: string | null;
}

export type {
  Action,
  ArticleResults,
  Attempt,
  AttentionItem,
  BackfillRequest,
  BackfillTrial,
  Bulk,
  BulkRequest,
  FailedArticle,
  Failure,
  Instant,
  Job,
  LogCount,
  LogLine,
  Member,
  Neighbours,
  PipelineDetail,
  Points,
  PipelineList,
  Preview,
  Ranked,
  Ranking,
  Run,
  RunState,
  ScheduleHealth,
  Series,
  Session,
  Suggestion,
  TrailEntry,
  WholeArticle,
} from "./schema";

export type ApiKey = schema.Key;
export type Article = schema.ArticleResult;
export type Attention = schema.AttentionList;
export type BulkAction = schema.Act;
export type BulkDryRun = schema.Trial;
export type Calendar = schema.CalendarModel;
export type CalendarCell = schema.CellModel;
export type DeadLetterGroup = schema.LetterGroup;
export type DeadLetterGroups = schema.LetterGroups;
export type LogPage = schema.Log;
export type Endpoint = schema.EndpointModel;
export type Endpoints = schema.EndpointList;
export type Breaker = schema.BreakerModel;
export type Pipeline = schema.PipelineModel;
export type Queue = schema.QueueModel;
export type RunCount = schema.Count;
export type RunEvent = schema.Event;
export type ScheduleOutcome = schema.OutcomeModel;
export type SeriesBucket = schema.Bar;
export type Task = schema.TaskModel;
export type Timeline = schema.TimelineModel;
export type TimelineGroup = schema.GroupModel;
export type TimelineMark = schema.MarkModel;
export type Worker = schema.WorkerModel;

// Requests may leave parts of the policies out, answers never do.
export type RetryPolicy = Required<schema.RetryPolicy>;
export type Catchup = Required<schema.Catchup>;
export type Schedule = Omit<schema.Schedule, "retry_policy" | "catchup"> & {
  retry_policy: RetryPolicy;
  catchup: Catchup;
};
