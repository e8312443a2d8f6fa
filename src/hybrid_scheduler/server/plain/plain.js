// The live race as a table, straight from the WebSocket.
"use strict";

const MOST_LINES = 100;
const LONGEST_PAUSE = 10000;
const byId = (id) => document.getElementById(id);
const colours = new Map();
let pause = 500;

function figure(value, digits = 4) {
  return value === null || value === undefined ? "–" : Number(value).toPrecision(digits);
}

function cell(text) {
  const made = document.createElement("td");
  made.textContent = text;
  return made;
}

function bar(entry, longest) {
  const made = document.createElement("td");
  const inner = document.createElement("div");
  made.className = "bar";
  inner.style.width = `${longest > 0 ? (100 * (entry.avg_response ?? 0)) / longest : 0}%`;
  inner.style.background = colours.get(entry.name) ?? "";
  made.append(inner);
  return made;
}

function showUpdate(update) {
  byId("state").textContent = update.state.replaceAll("_", " ");
  byId("facts").textContent =
    `${update.tasks_processed} tasks, ${figure(update.rates.tasks_per_second, 3)} per second, ` +
    `simulated time ${figure(update.simulated_time, 6)} s`;
  const order = [...update.comparison].sort(
    (a, b) => (a.avg_response ?? Infinity) - (b.avg_response ?? Infinity),
  );
  if (order.length === 0) return;
  const longest = Math.max(...order.map((entry) => entry.avg_response ?? 0));
  const rows = order.map((entry) => {
    const row = document.createElement("tr");
    row.append(
      cell(entry.overloaded ? `${entry.name} (overloaded)` : entry.name),
      cell(figure(entry.avg_response)),
      cell(figure(entry.avg_wait)),
      cell(figure(entry.avg_time)),
      cell(figure(entry.avg_energy)),
      cell(figure(entry.avg_cost)),
      cell(String(entry.tasks)),
      bar(entry, longest),
    );
    return row;
  });
  byId("race").replaceChildren(...rows);
}

function showLine(message) {
  const line = document.createElement("li");
  line.textContent = `${message.level}: ${message.message}`;
  byId("log").prepend(line);
  while (byId("log").children.length > MOST_LINES) byId("log").lastChild.remove();
}

async function learnColours() {
  const answer = await fetch("/api/schedulers");
  if (answer.ok) for (const each of await answer.json()) colours.set(each.name, each.colour);
}

function connect() {
  const address = new URL("/ws", location.href);
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  const token = sessionStorage.getItem("token");
  if (token) address.searchParams.set("token", token);
  const socket = new WebSocket(address);
  socket.onopen = () => {
    pause = 500;
    byId("token")?.remove();
  };
  socket.onmessage = (event) => {
    const message = JSON.parse(event.data);
    if (message.type === "simulation_update") showUpdate(message);
    else showLine(message);
  };
  socket.onclose = async () => {
    byId("state").textContent = "not connected, trying again…";
    setTimeout(connect, pause);
    pause = Math.min(2 * pause, LONGEST_PAUSE);
    await askForToken();
  };
}

async function askForToken() {
  const status = await fetch("/api/status").then((answer) => (answer.ok ? answer.json() : null), () => null);
  if (!status?.token_required || byId("token")) return;
  const field = document.createElement("input");
  field.id = "token";
  field.type = "password";
  field.placeholder = "token of this service";
  field.setAttribute("aria-label", "token of this service");
  field.onchange = () => {
    sessionStorage.setItem("token", field.value);
    pause = 500;
  };
  byId("state").after(" ", field);
}

learnColours().finally(connect);
