// A clip without controls: one button plays it, and what is counted are plays from the first frame to the last.

export function player(box, { started = () => {}, played = () => {} } = {}) {
  const video = box.querySelector("video");
  const button = box.querySelector(".play");
  const broken = box.querySelector(".broken");
  let plays = 0;

  const play = () => {
    video.currentTime = 0;
    video.play().catch(() => {}); // the browser wants a press first, or the clip is broken: the button stays
  };
  button.addEventListener("click", play);
  video.addEventListener("playing", () => {
    button.textContent = "From the start";
    started();
  });
  video.addEventListener("ended", () => {
    button.textContent = "Play again";
    plays += 1;
    played(plays);
  });

  const fail = () => {
    broken.hidden = false;
    button.hidden = true;
  };
  video.addEventListener("error", fail);
  video.querySelector("source:last-of-type").addEventListener("error", fail); // neither format could be had
  if (video.networkState === HTMLMediaElement.NETWORK_NO_SOURCE) fail();
  box.querySelector(".reload").addEventListener("click", () => {
    broken.hidden = true;
    button.hidden = false;
    video.load();
    button.focus();
  });
  return { video, play };
}

// Whether clips may start by themselves.
export const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
