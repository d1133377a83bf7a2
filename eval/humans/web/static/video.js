// The test page: an answer needs one full play and a rating; it is sent until the server says that it is saved.

import { calm, player } from "./player.js";

const form = document.getElementById("answer");
const { rating, rt_ms, plays } = form.elements;
const slider = document.getElementById("slider");
const value = document.getElementById("value");
const state = document.getElementById("state");
const next = document.getElementById("next");
const hint = document.getElementById("hint");
const problem = document.getElementById("problem");
const ends = form.querySelectorAll(".end");
const TRIES = [500, 1500, 4000]; // ms before the answer is sent again
const PATIENCE = 15000; // ms until a request counts as lost
let firstPlay = null;
let answer = null; // what Next was pressed with: it is final, and every try sends the same

const { video, play } = player(document.querySelector(".player"), {
  started: () => (firstPlay ??= performance.now()), // this clock does not follow the machine's when that is set
  played: (count) => {
    plays.value = count;
    if (count === 1) loadAhead();
    update();
  },
});
if (!calm) play();

function rate(number) {
  rating.value = slider.value = number;
  slider.classList.remove("untouched");
  slider.setAttribute("aria-valuetext", number);
  value.textContent = number;
  state.textContent = `[Answered: ${number}]`;
  state.classList.add("answered");
  ends.forEach((end) => end.setAttribute("aria-pressed", end.dataset.rating === String(number)));
  update();
}

function update() {
  if (answer) return;
  const missing = [plays.value === "0" && "watch the clip to its end", rating.value === "" && "rate it"].filter(Boolean);
  next.disabled = missing.length > 0;
  hint.textContent = missing.length ? `To go on, ${missing.join(" and ")}.` : "Next makes this answer final.";
}

slider.addEventListener("input", () => rate(slider.value));
slider.addEventListener("pointerup", () => rate(slider.value)); // a press on the middle changes no value, and is an answer
ends.forEach((end) => end.addEventListener("click", () => rate(end.dataset.rating)));

// Without video elements, so that the clips lie in the browser's cache when their pages come.
async function loadAhead() {
  const kind = video.currentSrc.split(".").pop();
  for (const name of form.dataset.ahead.split(" ").filter(Boolean)) {
    await fetch(`/clip/${name}.${kind}`).then((reply) => reply.blob()).catch(() => {});
  }
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

// What the server said, or null where it could not be reached.
async function send() {
  try {
    const reply = await fetch(form.action, {
      method: "POST",
      body: answer,
      headers: { Accept: "application/json" },
      signal: AbortSignal.timeout(PATIENCE),
    });
    return await reply.json();
  } catch {
    return null;
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (next.disabled) return;
  if (!answer) {
    rt_ms.value = Math.round(performance.now() - firstPlay);
    answer = new URLSearchParams(new FormData(form));
    for (const input of [slider, ...ends]) input.disabled = true;
  }
  next.disabled = true;
  next.textContent = "Saving …";
  problem.hidden = true;
  let said = await send();
  for (const ms of TRIES) {
    if (said) break;
    await pause(ms);
    said = await send();
  }
  if (said?.next) {
    location.assign(said.next);
    return;
  }
  next.textContent = "Next";
  next.disabled = false;
  problem.textContent = said?.error ?? "Not saved yet: the server cannot be reached. Your answer is kept on this page; press Next to try again.";
  if (said && !said.again) {
    const link = document.createElement("a");
    link.href = "/step";
    link.textContent = "Go to the current step";
    problem.append(" ", link);
  }
  problem.hidden = false;
});

slider.focus({ preventScroll: true });
