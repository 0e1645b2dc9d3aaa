/** The client of Foliot's HTTP API. */
export { Foliot, FoliotError, type Answer, type FoliotOptions, type ListPath, type Method, type Path, type RunEvent } from "./client.js";
export type * from "./schema.js";
