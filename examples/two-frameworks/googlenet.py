"""GoogLeNet of the convnet benchmarks: no normalisation, no auxiliary classifiers."""
import torch
import torch.nn as nn

from train import train

# Maps of the four branches: 1x1; 1x1 then 3x3; 1x1 then 5x5; pooling then 1x1.
STAGES = [
    [(64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64)],
    [
        (192, 96, 208, 16, 48, 64),
        (160, 112, 224, 24, 64, 64),
        (128, 128, 256, 24, 64, 64),
        (112, 144, 288, 32, 64, 64),
        (256, 160, 320, 32, 128, 128),
    ],
    [(256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128)],
]


def conv(before, maps, kernel, stride=1):
    layer = nn.Conv2d(before, maps, kernel, stride=stride, padding=kernel // 2)
    return nn.Sequential(layer, nn.ReLU(inplace=True))


class Inception(nn.Module):
    def __init__(self, before, one, reduce3, three, reduce5, five, pool):
        super().__init__()
        self.one = conv(before, one, 1)
        self.three = nn.Sequential(conv(before, reduce3, 1), conv(reduce3, three, 3))
        self.five = nn.Sequential(conv(before, reduce5, 1), conv(reduce5, five, 5))
        self.pool = nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1), conv(before, pool, 1))
        self.maps = one + three + five + pool

    def forward(self, x):
        return torch.cat([self.one(x), self.three(x), self.five(x), self.pool(x)], 1)


class GoogLeNet(nn.Sequential):
    def __init__(self, channels, maps, classes):
        halving = nn.MaxPool2d(3, stride=2, padding=1)
        layers = [conv(channels, maps(64), 7, stride=2), halving, conv(maps(64), maps(64), 1)]
        layers += [conv(maps(64), maps(192), 3), halving]
        before = maps(192)
        for number, stage in enumerate(STAGES):
            if number > 0:
                layers.append(halving)
            for widths in stage:
                layers.append(Inception(before, *(maps(w) for w in widths)))
                before = layers[-1].maps
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, classes))


if __name__ == "__main__":
    train(GoogLeNet, side=224)
