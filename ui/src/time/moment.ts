/** The functions of `time/` that components use most, in one import. */
export {
  absolute,
  clock,
  day,
  duration,
  exact,
  humane,
  millis,
  number,
  percent,
  relative,
  short,
  titleTime,
} from "./format";
export { mark } from "./zone";
