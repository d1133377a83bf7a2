"""What the OpenGL renderer runs on each corner and each pixel: hard light, soft light, and shadows."""

VERTEX = """
#version 330
uniform mat4 view_projection, light;
in vec3 position;
in vec4 color_in;
in uint segment_in;
out vec3 world;
out vec4 lit;
flat out vec4 color;
flat out uint segment;
void main() {
    world = position;
    lit = light * vec4(position, 1.0);
    color = color_in;
    segment = segment_in;
    gl_Position = view_projection * vec4(position, 1.0);
}
"""
HARD = """
#version 330
uniform vec3 to_light;
uniform sampler2DShadow shadow;
in vec3 world;
in vec4 lit;
flat in vec4 color;
flat in uint segment;
layout(location = 0) out vec4 picture;
layout(location = 1) out uint found;
void main() {
    vec3 normal = normalize(cross(dFdx(world), dFdy(world)));  // towards the eye
    float facing = dot(normal, to_light);
    vec3 at = lit.xyz * 0.5 + 0.5;
    float open = facing > 0.0 ? texture(shadow, vec3(at.xy, at.z - 0.004)) : 0.0;
    picture = vec4(color.rgb * (0.45 + 0.15 * normal.z + 0.45 * max(facing, 0.0) * open), color.a);
    found = segment;
}
"""
SOFT_VERTEX = VERTEX.replace("in vec4 color_in;", "in vec4 color_in;\nin vec3 normal_in;\nout vec3 bent;").replace(
    "world = position;", "world = position;\n    bent = normal_in;"
)
SOFT = """
#version 330
uniform vec3 to_light, lamp;
uniform mat3 plane;  // a normal -> one over how the shadow map's depth grows along its sides
uniform float spread, fade;
uniform sampler2DShadow shadow;
uniform sampler2D nearest;
in vec3 world, bent;
in vec4 lit;
flat in vec4 color;
flat in uint segment;
layout(location = 0) out vec4 picture;
layout(location = 1) out uint found;
const float widest = 0.04;  // of the shadow map
const int search = 20, taps = 32;
vec2 tap(int i, int count) {  // evenly over a disk
    return sqrt((float(i) + 0.5) / float(count)) * vec2(cos(2.39996 * float(i)), sin(2.39996 * float(i)));
}
float lightness(vec3 normal) {
    vec3 at = lit.xyz * 0.5 + 0.5, slope = plane * normal;
    vec2 grade = clamp(-slope.xy / slope.z, -4.0, 4.0);
    at.z -= 0.002;
    float sum = 0.0, count = 0.0;
    for (int i = 0; i < search; i++) {
        vec2 off = tap(i, search) * widest;
        float depth = textureLod(nearest, at.xy + off, 0.0).r;
        if (depth < at.z + dot(grade, off)) { sum += depth; count += 1.0; }
    }
    if (count == 0.0) return 1.0;
    float width = clamp((at.z - sum / count) * spread, 0.002, widest), open = 0.0;
    for (int i = 0; i < taps; i++) {
        vec2 off = tap(i, taps) * width;
        open += textureLod(shadow, vec3(at.xy + off, at.z + dot(grade, off)), 0.0);
    }
    return open / float(taps);
}
void main() {
    vec3 flat_ = normalize(cross(dFdx(world), dFdy(world)));  // towards the eye
    vec3 normal = dot(bent, bent) > 0.01 ? normalize(bent) : flat_;
    vec3 away = lamp - world;
    float facing = min(dot(normal, normalize(away)), dot(normal, to_light) * 4.0);
    float open = facing > 0.0 ? lightness(normal) * facing / (1.0 + 3.0 * dot(away, away) / (fade * fade)) : 0.0;
    vec3 linear = pow(color.rgb, vec3(2.2)) * (open * 3.0 + 0.16 + 0.1 * normal.z);
    picture = vec4(pow(1.0 - exp(-linear), vec3(1.0 / 2.2)), color.a);
    found = segment;
}
"""
SHADOW_VERTEX = """
#version 330
uniform mat4 light;
in vec3 position;
void main() { gl_Position = light * vec4(position, 1.0); }
"""
NOTHING = "#version 330\nvoid main() {}"
