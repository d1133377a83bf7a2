// Both versions of a scenario have to be seen before the next.

import { player } from "./player.js";

const next = document.getElementById("next");
const hint = document.getElementById("hint");
const seen = new Set();

document.querySelectorAll(".player").forEach((box) => {
  player(box, {
    played: () => {
      seen.add(box);
      if (seen.size === 2) {
        next.disabled = false;
        hint.textContent = "";
      }
    },
  });
});
