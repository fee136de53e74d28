// A process driver for Node: looks up the status of the order that a request names.
// It needs no package. Run it in a protocol as
//
//     driver = "process:node process_driver.mjs"

import { createInterface } from "node:readline";

const NAME = "order-desk";
const VERSION = "1";

const lines = createInterface({ input: process.stdin, crlfDelay: Infinity })[Symbol.asyncIterator]();

/** Write one message as one line. */
function say(message) {
  process.stdout.write(JSON.stringify(message) + "\n");
}

/** Return the next message, or null when the harness went away. */
async function hear() {
  const { value, done } = await lines.next();
  return done ? null : JSON.parse(value);
}

/** Have the harness run a tool, and return its answer. */
async function dispatch(asked, name, input) {
  say({ kind: "dispatch", id: asked.id, name, input });
  return hear();
}

/** Handle one request, and return the report. */
async function handle(asked) {
  const order = asked.request.match(/order-[0-9]+/);
  const tool = asked.config.tool ?? "order_status";
  if (!order || !asked.tools.includes(tool)) {
    return { refused: true, why: "no order, or no tool for it" };
  }
  const input = { order: order[0] };
  const answer = await dispatch(asked, tool, input);
  if (answer === null || !answer.ok) {
    return { refused: true, why: answer?.error ?? "no answer" };
  }
  return { calls: [{ name: tool, input }], observed: answer.text };
}

for (let message = await hear(); message !== null && message.kind !== "goodbye"; message = await hear()) {
  if (message.kind === "hello") {
    say({ kind: "hello", protocol: 1, name: NAME, version: VERSION });
  } else if (message.kind === "request") {
    try {
      say({ kind: "result", id: message.id, result: await handle(message) });
    } catch (error) {
      say({ kind: "error", id: message.id, message: String(error?.stack ?? error) });
    }
  }
}
process.exit(0);
